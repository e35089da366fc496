/**
 * Whether a data folder has a journal, or had one: what its other files show of it. Snapshots,
 * history.db and journal.head were made from commands that were committed, so a journal that is
 * gone, or ends before one of them, has lost commands. A backup or an archive was made of one.
 *
 * Always holds: nothing in the folder is created, changed or deleted (read-only.ts).
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { HistoryDamage } from '../history/rows.js';
import { HISTORY_FILE } from '../history/runs/format.js';
import { historyPath, readProgress } from '../history/store.js';
import { adviceFor, damageOf, JournalError } from '../journal/errors.js';
import { HEAD_FILE, JOURNAL_FILE } from '../journal/format.js';
import { readMark } from '../journal/head-mark.js';
import { isArchivedMark, listSegments } from '../journal/segments.js';
import { openReadOnly } from '../storage/read-only.js';
import { closeDatabase } from '../storage/sqlite.js';
import { LAST_BACKUP_FILE } from './last-backup.js';
import { listSnapshots, type SnapshotName } from './snapshot/folder.js';
import { aheadOfJournal, isUndamaged } from './snapshot/load.js';

/** Files made from the journal, which show how far it reached at least. */
export interface DerivedFiles {
  snapshots: readonly SnapshotName[];
  /** The end of history.db; 0: there is none, or it is damaged. */
  historySequence: number;
}

/** Whether the folder has a journal. @throws JournalError when it had one and it is gone. */
export async function findJournal(folder: string): Promise<boolean> {
  return hasJournal(folder, await derivedFilesOf(folder), false);
}

/** {@link findJournal}, when the derived files are known. @throws JournalError */
export function hasJournal(
  folder: string,
  derived: DerivedFiles,
  acceptMissingMark: boolean,
): boolean {
  if (listSegments(folder).some(({ path }) => sizeOf(path) > 0)) return true;
  const path = join(folder, JOURNAL_FILE);
  const found = evidenceOf(folder, derived, acceptMissingMark);
  if (found === null) return false;
  throw damageOf(path, ` is gone or empty, but ${found.shows}`, 1, undefined, found.otherwise);
}

interface Evidence {
  shows: string;
  /** If it shows nothing after all. */
  otherwise?: string;
}

/** What shows that there was a journal; null: nothing does. */
function evidenceOf(
  folder: string,
  { snapshots, historySequence }: DerivedFiles,
  acceptMissingMark: boolean,
): Evidence | null {
  const state = readMark(join(folder, HEAD_FILE));
  if (sizeOf(join(folder, `${JOURNAL_FILE}-wal`)) > 0) return { shows: 'its -wal file is there' };
  const newest = snapshots[0];
  if (state.state === 'read' && state.mark.sequence > 0) {
    const { sequence } = state.mark;
    return { shows: `commands up to ${sequence} had been acknowledged (${HEAD_FILE})` };
  }
  const unless = (name: string) => `Only if no journal belongs here: remove ${name}`;
  if (newest !== undefined) {
    const shows = `the snapshot ${newest.path} was taken at sequence ${newest.sequence}`;
    return { shows, otherwise: unless('the folder snapshots') };
  }
  if (historySequence > 0) {
    const shows = `${HISTORY_FILE} was made from commands up to ${historySequence}`;
    return { shows, otherwise: unless(HISTORY_FILE) };
  }
  const left = readdirSync(folder).find(
    (name) => name === LAST_BACKUP_FILE || isArchivedMark(name),
  );
  if (left !== undefined)
    return { shows: `${left} shows that there was one`, otherwise: unless(left) };
  if (state.state !== 'unreadable' || acceptMissingMark) return null;
  return {
    shows: `${HEAD_FILE} is unreadable, so it is unknown what had been committed`,
    otherwise: 'Only if no journal belongs here: start once with ACCEPT_MISSING_MARK=on',
  };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

export async function derivedFilesOf(folder: string): Promise<DerivedFiles> {
  return { snapshots: listSnapshots(folder), historySequence: await historySequence(folder) };
}

/** The end of history.db; 0 for one that is damaged or of another version: it is rebuilt. */
export async function historySequence(folder: string): Promise<number> {
  const path = historyPath(folder);
  if (!existsSync(path)) return 0;
  try {
    const { database } = await openReadOnly(path);
    try {
      return (await readProgress(database)).sequence;
    } finally {
      await closeDatabase(database);
    }
  } catch (error) {
    const isDamage =
      error instanceof HistoryDamage || (error as { errno?: number }).errno !== undefined;
    if (!isDamage) throw error;
    return 0;
  }
}

/** @throws JournalError when the journal ends before what was made from it. */
export async function checkDerivedFiles(
  folder: string,
  { snapshots, historySequence }: DerivedFiles,
  end: number,
): Promise<void> {
  for (const snapshot of snapshots) {
    if (snapshot.sequence > end && (await isUndamaged(snapshot)))
      throw new JournalError(
        {
          problem: aheadOfJournal(snapshot, end),
          remedy: adviceFor(folder, copied('the snapshot')),
        },
        end + 1,
      );
  }
  if (historySequence <= end) return;
  throw new JournalError(
    {
      problem:
        `the journal ends at sequence ${end}, but ${HISTORY_FILE} was made from commands up to ` +
        `${historySequence}, which had been committed: acknowledged commands are missing from ` +
        'the journal',
      remedy: adviceFor(folder, copied(HISTORY_FILE)),
    },
    end + 1,
  );
}

function copied(what: string): string {
  return `Only if ${what} was copied here from another folder: remove it`;
}
