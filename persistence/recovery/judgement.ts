/**
 * The judgement of a data folder: whether an exchange may start on it. `replay verify` uses it too,
 * with all segments. An exchange may start on a folder when
 *   1. it has a journal, or nothing in it shows that it had one;
 *   2. the journal is of the present version, and the hash of every batch is right from the newest
 *      vouched snapshot on. Damage before the snapshot in its segment only causes a warning;
 *   3. SQLite's structure around the rows is intact, and SQLite can write to the file;
 *   4. the journal reaches as far as journal.head does. Snapshots and the history do not count:
 *      what is ahead of the journal is not used;
 *   5. journal.head can be read, or the operator has accepted that it cannot;
 *   6. it is not a copy that was interrupted.
 * The replay that follows (recovery.ts) checks whether the commands lead to the digests.
 *
 * Invariant: nothing in the folder is created, changed or deleted (read-only.ts).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { adviceFor, damageOf, JournalError, restoreCommand, UNCHANGED } from '../journal/errors.js';
import { GENESIS, HEAD_FILE, type JournalPosition } from '../journal/format.js';
import { BEHIND_MAX } from '../journal/head-mark.js';
import type { FoundJournal } from '../journal/journal.js';
import { readJournal } from '../journal/read-only.js';
import type { JournalReader } from '../journal/reader.js';
import { archivedMark, listSegments, namesOf } from '../journal/segments.js';
import { takesWrites, WRITE_VERSION_AT } from '../storage/write-version.js';
import { hasJournal } from './evidence.js';
import { listSnapshots } from './snapshot/folder.js';
import { vouchedPosition } from './snapshot/vouched.js';

export interface JudgementOptions {
  acceptMissingMark: boolean;
  /** Check all segments of the journal, even those that startup does not need. */
  checkAll?: boolean;
  acceptUnfinished?: boolean;
  /** The required version. Default: the present one. */
  version?: number;
}

/** The journal is valid, but without journal.head its end could be missing. */
export class UnmarkedJournal extends JournalError {
  override name = 'UnmarkedJournal';
}

/** Startup needs the first segments, which are elsewhere. */
export class SegmentsNeeded extends JournalError {
  override name = 'SegmentsNeeded';
}

/** @throws JournalError with a remedy; FolderDisturbed if an exchange starts during the call. */
export async function judgeFolder(
  folder: string,
  options: JudgementOptions,
): Promise<FoundJournal> {
  if (options.acceptUnfinished !== true) refuseUnfinished(folder);
  if (!hasJournal(folder, options.acceptMissingMark)) {
    return { isNew: true, end: GENESIS, notice: null, remark: null, damage: null };
  }
  // Before SQLite opens the file: closing a file releases SQLite's locks on it (POSIX).
  const { path: lastPath } = listSegments(folder).at(-1)!;
  const isWritable = takesWrites(lastPath);
  return readJournal(
    folder,
    async (reader) => {
      const snapshot = await provenSnapshot(folder, reader);
      const needed = options.checkAll === true ? null : snapshot;
      const from = (needed?.sequence ?? reader.firstSequence - 1) + 1;
      const { end, damage } = await provenFrom(from, needed, reader);
      const problems = [...(damage === null ? [] : [damage]), ...(await reader.checkJoints(from))];
      await reader.checkStructure(end.sequence, from);
      if (!isWritable) throw notWritable(lastPath, end.sequence);
      const missing = judgeMissing(folder, reader, snapshot, options.checkAll === true);
      const notices = [
        await markNotice(folder, reader, end, options.acceptMissingMark),
        missing.notice,
        problems.length === 0 ? null : notNeeded(problems, folder, needed!),
      ];
      const { remark } = missing;
      const older = joined(notices.slice(1));
      return { isNew: false, end, notice: joined(notices), remark, damage: older };
    },
    options.version,
  );
}

function joined(texts: readonly (string | null)[]): string | null {
  return texts.filter((each) => each !== null).join('; ') || null;
}

/** The mark file of a folder that is being made (operations/folders.ts). */
export const UNFINISHED_COPY = 'unfinished-copy';

/** The journal of an unfinished folder may be valid, but end too early. @throws JournalError */
export function refuseUnfinished(folder: string): void {
  const copy = join(folder, UNFINISHED_COPY);
  if (existsSync(copy))
    throw new JournalError(
      {
        problem: `${folder} is a copy that was interrupted, so commands are missing at its end`,
        file: copy,
        remedy:
          `${UNCHANGED} Copy again: a backup into the same folder continues, other copies need a new ` +
          `folder. Remove ${copy} only if you accept the loss of what was not copied.`,
      },
      null,
    );
}

/** Startup does not need rows before it; null if it needs all. The recovery checks the file. */
async function provenSnapshot(
  folder: string,
  reader: JournalReader,
): Promise<JournalPosition | null> {
  for (const snapshot of listSnapshots(folder)) {
    if (snapshot.sequence < reader.firstSequence - 1) break;
    const position = await vouchedPosition(reader, snapshot).catch(unlessJournal);
    if (position !== null) return position;
  }
  return null;
}

/** `damage`: before the snapshot. @throws JournalError for a part that startup needs. */
async function provenFrom(
  from: number,
  snapshot: JournalPosition | null,
  reader: JournalReader,
): Promise<{ end: JournalPosition; damage: JournalError | null }> {
  try {
    return { end: await reader.provenEnd(from), damage: null };
  } catch (error) {
    if (snapshot === null || !(error instanceof JournalError)) throw error;
    const end = await reader.provenEnd(from, snapshot).catch(unlessJournal);
    if (end === null) throw error;
    return { end, damage: error };
  }
}

/** A damaged journal does not vouch for snapshots. The check of its segment finds the damage. */
function unlessJournal(error: unknown): null {
  if (error instanceof JournalError) return null;
  throw error;
}

/** @throws JournalError if startup needs them, or for `checkAll` if no archive has them. */
function judgeMissing(
  folder: string,
  reader: JournalReader,
  snapshot: JournalPosition | null,
  checkAll: boolean,
): Pick<FoundJournal, 'notice' | 'remark'> {
  const lacking = reader.lacking();
  if (lacking.length === 0) return { notice: null, remark: null };
  const lost = lacking.filter(
    ({ segment, error }) => error !== null || !existsSync(archivedMark(segment.path)),
  );
  const names = namesOf(lacking.map(({ segment }) => segment));
  const [first] = lost;
  if (first !== undefined && (checkAll || snapshot === null)) {
    const are =
      lost.length === 1 ? 'is missing, and it was' : 'and others are missing or damaged, and were';
    throw first.error ?? damageOf(first.segment.path, ` ${are} not moved to an archive`, 1);
  }
  if (snapshot === null) {
    throw new SegmentsNeeded(
      {
        problem: `startup needs older segments (${names}), which were moved to an archive`,
        file: folder,
        remedy: `${UNCHANGED} Bring the segments back: ${restoreCommand(folder)}`,
      },
      null,
    );
  }
  if (first === undefined) {
    const remark = `older segments (${names}) are in the archive; verify proves them when they are back`;
    return { notice: null, remark };
  }
  const problems = lost.map(
    ({ segment, error }) => error ?? { problem: `${segment.path} is missing` },
  );
  return { notice: notNeeded(problems, folder, snapshot), remark: null };
}

function notNeeded(
  problems: readonly { problem: string }[],
  folder: string,
  { sequence }: JournalPosition,
): string {
  const what = problems.map(({ problem }) => problem).join('; ');
  return (
    `${what}; startup does not need it, because the snapshot at sequence ${sequence} is after it. ` +
    `What can be done: npm run doctor -- --data ${folder}`
  );
}

function notWritable(path: string, end: number): JournalError {
  return damageOf(
    path,
    ` has all rows up to sequence ${end} as they were written, but the structure of its header is ` +
      `damaged: because of byte ${WRITE_VERSION_AT}, SQLite would not write to it`,
    end + 1,
  );
}

/** How the head mark differs from the journal's end; null means not at all. */
async function markNotice(
  folder: string,
  reader: JournalReader,
  end: JournalPosition,
  acceptMissingMark: boolean,
): Promise<string | null> {
  const { markState } = reader;
  const behind = (await reader.batchesAfterMark()) ?? 0;
  const isOld = behind > BEHIND_MAX;
  if (markState.state === 'read' && !isOld)
    return behind === 0
      ? null
      : `journal.head was ${behind} commits behind the journal, as a crash can leave it`;
  const state = markState.state === 'read' ? 'outdated' : markState.state;
  if (acceptMissingMark)
    return `journal.head was ${state}; the journal was accepted as complete, with its end at ${end.sequence}`;
  const older = isOld
    ? ` (it is more than ${BEHIND_MAX} commits behind, and no crash leaves it so: it was put back ` +
      'from a copy)'
    : '';
  throw new UnmarkedJournal(
    {
      problem:
        `${join(folder, HEAD_FILE)} is ${state}${older}, so it is unknown whether the journal, which ` +
        `ends at sequence ${end.sequence}, is complete`,
      file: join(folder, HEAD_FILE),
      remedy: adviceFor(
        folder,
        'Only if you know that it is: start once with ACCEPT_MISSING_MARK=on',
      ),
    },
    end.sequence + 1,
  );
}
