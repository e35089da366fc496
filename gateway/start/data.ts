/**
 * The data of an exchange: in its folder alone, or with the journal on PostgreSQL. Both are locked,
 * recovered from, and then written to.
 */
import { readFileSync, statSync } from 'node:fs';
import type { Engine } from '../../engine/engine.js';
import { DataFolder } from '../../persistence/data-folder.js';
import { hashFileInThread } from '../../persistence/follower/hash-thread.js';
import { JournalUnavailable } from '../../persistence/journal/errors.js';
import { type PostgresAddress, readAddress } from '../../persistence/journal/postgres/address.js';
import type { JournalPlace } from '../../persistence/journal/source.js';
import type { CommitLog } from '../../persistence/journal/store.js';
import type { RecoveryLog } from '../../persistence/recovery.js';
import { ReplicatedFolder } from '../../persistence/replicated-folder.js';
import type { Config, ReplicatedJournal } from '../config.js';
import type { Log } from '../observe/log.js';
import { ConfigError, withVariable } from './config-error.js';

/** What DataFolder and ReplicatedFolder have in common. */
export interface Data {
  readonly notice: string | null;
  recover(options: { log: RecoveryLog; elapsedMs: () => number }): Promise<Engine>;
  openJournal(): Promise<CommitLog>;
  release(): Promise<void>;
}

export interface LockedData {
  data: Data;
  /** Where the follower reads the journal. */
  place: JournalPlace;
}

/** @throws ConfigError, JournalError */
export async function lockData(
  config: Config,
  log: Log,
  onLost: (error: Error) => void,
): Promise<LockedData> {
  const { dataFolder: folder, acceptMissingMark, segmentBytes, journal } = config;
  if (journal === null) {
    const options = { folder, acceptMissingMark, segmentBytes, hashFile: hashFileInThread };
    const lock = () => DataFolder.lock(options);
    return { data: await withVariable('DATA_FOLDER', lock), place: { folder } };
  }
  const address = addressOf(journal);
  const { isUnreplicated } = journal;
  const onWaiting = () =>
    log.info('another exchange leads: this one takes over when its lease is over');
  try {
    const options = { folder, address, isUnreplicated, onWaiting, onLost };
    return { data: await ReplicatedFolder.lock(options), place: { postgres: address } };
  } catch (error) {
    if (error instanceof JournalUnavailable) throw new ConfigError(`JOURNAL: ${error.message}`);
    throw error;
  }
}

function addressOf({ url, passwordFile, authorityFile }: ReplicatedJournal): PostgresAddress {
  const password = secretIn('JOURNAL_PASSWORD_FILE', passwordFile);
  const authority = textIn('JOURNAL_CA_FILE', authorityFile);
  try {
    return readAddress(url, { password, authority });
  } catch (error) {
    throw new ConfigError(`JOURNAL ${(error as Error).message}`);
  }
}

function secretIn(variable: string, path: string): string | null {
  const text = textIn(variable, path);
  if (text !== null && (statSync(path).mode & 0o077) !== 0)
    throw new ConfigError(`${variable}: ${path} is open to other users. Run: chmod 600 ${path}`);
  return text?.trimEnd() ?? null;
}

function textIn(variable: string, path: string): string | null {
  if (path === '') return null;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(`${variable}: ${(error as Error).message}`);
  }
}
