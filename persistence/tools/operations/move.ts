/**
 * Moves a stopped exchange between a data folder and PostgreSQL: copies the whole journal batch by
 * batch, with the same hashes and digests. The original does not change.
 *
 * Invariant: no exchange writes to the original during the move, because the move holds its lock
 * or its lease; the copy ends with the original's hash, or is refused. Only {@link copyForAudit}
 * copies a journal that an exchange is writing, up to the present end, without a secret.
 */
import { hasLock, lockFolder } from '../../journal/folder-lock.js';
import type { JournalPosition } from '../../journal/format.js';
import { readJournal } from '../../journal/read-only.js';
import type { CommitLog, JournalSource } from '../../journal/store.js';
import { refuseUnfinished } from '../../recovery/judgement.js';
import type { PostgresAddress } from '../../replication/postgres/address.js';
import { LEASE_MS, PostgresJournal } from '../../replication/postgres/postgres-journal.js';
import { PostgresSource } from '../../replication/postgres/postgres-source.js';
import type { JournalPlace } from '../../replication/source.js';
import { checkFolder } from '../replay/input/replay-journal.js';
import { copyJournal } from './copy-journal.js';
import {
  closeCopy,
  copySecret,
  finishCopy,
  mustBeNew,
  OperationRefused,
  openCopy,
  orNothing,
} from './folders.js';

interface Move {
  from: JournalPlace;
  to: JournalPlace;
  isUnreplicated: boolean;
}

/**
 * Moves the journal and returns its end. @throws OperationRefused, JournalError, JournalUnavailable
 */
export async function move({ from, to, isUnreplicated }: Move): Promise<JournalPosition> {
  if ('folder' in from) await checkFolder(from.folder);
  if ('folder' in to) mustBeNew(to.folder);
  const copy = () => moveInto({ from, to, isUnreplicated });
  return 'folder' in to ? orNothing(to.folder, copy) : copy();
}

/** Copies the present journal on PostgreSQL, even while an exchange leads. Returns its end. */
export function copyForAudit(from: PostgresAddress, folder: string): Promise<JournalPosition> {
  mustBeNew(folder);
  return orNothing(folder, async () => {
    const source = await PostgresSource.open(from, 'standby');
    const target = await openCopy(folder);
    try {
      await copyJournal(source, target);
    } finally {
      await closeCopy(folder, target);
      await source.close();
    }
    await finishCopy(folder);
    return target.end;
  });
}

async function moveInto({ from, to, isUnreplicated }: Move): Promise<JournalPosition> {
  return whileStopped(from, isUnreplicated, async (source) => {
    const target = await openTarget(to, isUnreplicated);
    try {
      await mustContinue(source, target);
      await copyJournal(source, target);
    } finally {
      await closeTarget(to, target);
    }
    if ('folder' in from && 'folder' in to) await copySecret(from.folder, to.folder);
    if ('folder' in to) await finishCopy(to.folder);
    return target.end;
  });
}

/** Runs `work` on a journal while no exchange can write to it. */
async function whileStopped(
  place: JournalPlace,
  isUnreplicated: boolean,
  work: (source: JournalSource) => Promise<JournalPosition>,
): Promise<JournalPosition> {
  if ('folder' in place) {
    const lock = hasLock(place.folder) ? await lockFolder(place.folder) : null;
    try {
      return await readJournal(place.folder, (reader) => {
        refuseUnfinished(place.folder);
        return work(reader);
      });
    } finally {
      await lock?.release();
    }
  }
  const address: PostgresAddress = place.postgres;
  const source = await PostgresSource.open(address, 'primary');
  try {
    // A leader would continue to write, so wait for its lease to end and hold the lease here.
    const lease = await leaseOf(address, isUnreplicated);
    try {
      return await work(source);
    } finally {
      await lease.close();
    }
  } finally {
    await source.close();
  }
}

function openTarget(to: JournalPlace, isUnreplicated: boolean): Promise<CommitLog> {
  return 'folder' in to ? openCopy(to.folder) : leaseOf(to.postgres, isUnreplicated);
}

/** Waits for the lease of a leader that is gone. @throws OperationRefused if one renews it */
async function leaseOf(
  address: PostgresAddress,
  isUnreplicated: boolean,
): Promise<PostgresJournal> {
  const signal = AbortSignal.timeout(2 * LEASE_MS);
  try {
    return await PostgresJournal.takeOver({ address, isUnreplicated, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new OperationRefused(
      'an exchange leads the journal on PostgreSQL. Nothing was changed. Stop it first',
    );
  }
}

async function closeTarget(to: JournalPlace, target: CommitLog): Promise<void> {
  if ('folder' in to) await closeCopy(to.folder, target);
  else await target.close();
}

/** After an interrupted copy the target must be the beginning of the original. */
async function mustContinue(source: JournalSource, target: CommitLog): Promise<void> {
  const { sequence, hash } = target.end;
  const there = await source.positionAt(sequence);
  if (there?.hash.equals(hash) === true) return;
  throw new OperationRefused(
    `the target already contains a journal, up to sequence ${sequence}, that is not the beginning ` +
      "of the source's. Nothing was changed. Use an empty database",
  );
}
