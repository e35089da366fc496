/** An exchange's data: all in its folder, or with the journal on PostgreSQL. */
import type { Engine } from '../../engine/engine.js';
import { JournalUnavailable } from '../../persistence/journal/errors.js';
import type { CommitLog } from '../../persistence/journal/store.js';
import { DataFolder } from '../../persistence/recovery/data-folder.js';
import type { StartOptions } from '../../persistence/recovery/recovery.js';
import {
  type PostgresAddress,
  readAddress,
  readSecrets,
} from '../../persistence/replication/postgres/address.js';
import { ReplicatedFolder } from '../../persistence/replication/replicated-folder.js';
import type { JournalPlace } from '../../persistence/replication/source.js';
import { troubleOf, troubleText } from '../../persistence/storage/trouble.js';
import { servingUrl } from '../http/listen-addresses.js';
import { Candidate } from '../inputs/candidate.js';
import { elapsedMs } from '../observe/clock.js';
import { tellCopies, tellLeader, tellRefused } from '../observe/standing.js';
import type { ReplicatedJournal } from './config.js';
import { ConfigError, withVariable } from './config-error.js';
import { type StandbyOptions, standBy } from './standby.js';

export interface Data {
  readonly notice: string | null;
  readonly remark: string | null;
  readonly isNew: boolean;
  readonly damage: string | null;
  recover(options: StartOptions): Promise<Engine>;
  openJournal(): Promise<CommitLog>;
  release(): Promise<void>;
}

export interface LockedData {
  data: Data;
  place: JournalPlace;
  /** For a journal on PostgreSQL, where other exchanges may exist. */
  replicated: ReplicatedFolder | null;
}

type LockOptions = Omit<StandbyOptions, 'address' | 'isUnreplicated'>;

/** A standby waits here until it leads. @throws ConfigError, JournalError */
export async function lockData(options: LockOptions): Promise<LockedData> {
  const { config, log, onLost } = options;
  const { dataFolder: folder, acceptMissingMark, segmentBytes, journal, requireJournal } = config;
  if (journal === null) {
    const folderOptions = {
      folder,
      acceptMissingMark,
      segmentBytes,
      onLost,
      log,
    };
    const lock = () => DataFolder.lock(folderOptions);
    const data = await withVariable('DATA_FOLDER', lock);
    return { data, place: { folder }, replicated: null };
  }
  const address = addressOf(journal);
  const { isUnreplicated } = journal;
  if (config.role === 'standby') {
    const data = await standBy({ ...options, address, isUnreplicated });
    return { data, place: { postgres: address }, replicated: data };
  }
  const { candidateClock: clock, mustServe } = options;
  let engine: Engine | null = null;
  const candidate = new Candidate({ clock, mustServe: () => mustServe(engine), log });
  try {
    const data = await ReplicatedFolder.lock({
      folder,
      address,
      isUnreplicated,
      mustExist: requireJournal,
      onWaiting: tellLeader(log, servingUrl(config, config.port)),
      candidate,
      log,
      followed: (of) => {
        // Commands already in the journal do not show the current time.
        if (engine !== null) clock?.journal.told(of.nowMs);
        engine = of;
      },
      onCopies: tellCopies(log),
      onRefused: tellRefused(log),
      onLost,
      signal: options.signal,
      elapsedMs,
    });
    return { data, place: { postgres: address }, replicated: data };
  } catch (error) {
    if (error instanceof JournalUnavailable) throw new ConfigError(`JOURNAL: ${error.message}`);
    throw error;
  }
}

export function addressOf({
  url,
  passwordFile,
  authorityFile,
}: ReplicatedJournal): PostgresAddress {
  const files = { passwordFile: passwordFile || null, authorityFile: authorityFile || null };
  check('JOURNAL_PASSWORD_FILE', { ...files, authorityFile: null });
  check('JOURNAL_CA_FILE', { ...files, passwordFile: null });
  try {
    return readAddress(url, files);
  } catch (error) {
    throw new ConfigError(`JOURNAL ${(error as Error).message}`);
  }
}

/** Each connection reads the files again. */
function check(variable: string, files: Parameters<typeof readSecrets>[0]): void {
  try {
    readSecrets(files);
  } catch (error) {
    throw new ConfigError(`${variable}: ${troubleText(troubleOf(error))}`);
  }
}
