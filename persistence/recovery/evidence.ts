/**
 * Whether a data folder has a journal, or had one, from the names of its files. `journal.head` and
 * a journal's log prove commands; a snapshot, a backup or an archive shows that there were some.
 *
 * Invariant: nothing in the folder is created, changed or deleted.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { damageOf } from '../journal/errors.js';
import { HEAD_FILE, JOURNAL_FILE } from '../journal/format.js';
import { readMark } from '../journal/head-mark.js';
import { isArchivedMark, listSegments } from '../journal/segments.js';
import { LAST_BACKUP_FILE } from './last-backup.js';
import { listSnapshots } from './snapshot/folder.js';

/** Whether the folder has a journal. @throws JournalError if it had one that is gone. */
export function hasJournal(folder: string, acceptMissingMark = false): boolean {
  if (listSegments(folder).some(({ path }) => sizeOf(path) > 0)) return true;
  const path = join(folder, JOURNAL_FILE);
  const found = evidenceOf(folder, acceptMissingMark);
  if (found === null) return false;
  throw damageOf(path, ` is gone or empty, but ${found.shows}`, 1, undefined, found.otherwise);
}

interface Evidence {
  shows: string;
  otherwise?: string;
}

/** A file that shows that there was a journal; null if none. */
function evidenceOf(folder: string, acceptMissingMark: boolean): Evidence | null {
  const state = readMark(join(folder, HEAD_FILE));
  if (sizeOf(join(folder, `${JOURNAL_FILE}-wal`)) > 0) return { shows: 'its -wal file is there' };
  if (state.state === 'read' && state.mark.sequence > 0) {
    const { sequence } = state.mark;
    return { shows: `commands up to ${sequence} had been acknowledged (${HEAD_FILE})` };
  }
  const unless = (name: string) => `Only if no journal belongs here: remove ${name}`;
  const [snapshot] = listSnapshots(folder);
  if (snapshot !== undefined) {
    const shows = `the snapshot ${snapshot.path} was taken at sequence ${snapshot.sequence}`;
    return { shows, otherwise: unless('the folder snapshots') };
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
