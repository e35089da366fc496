/**
 * Backup and restore of a data folder, both as copies of its journal.
 *
 * Invariant: a backup is a data folder on which an exchange could start. Its end was durable
 * when the backup began or later. A backup into an existing backup of the same exchange adds what
 * is missing. A backup of a different exchange is refused.
 */
import { join } from 'node:path';
import { JournalError, JournalNotWritten } from '../../journal/errors.js';
import { HEAD_FILE, type JournalPosition } from '../../journal/format.js';
import { readMark } from '../../journal/head-mark.js';
import type { Journal } from '../../journal/journal.js';
import { readJournal } from '../../journal/read-only.js';
import type { JournalReader } from '../../journal/reader.js';
import { listSegments } from '../../journal/segments.js';
import { judgeFolder, refuseUnfinished } from '../../recovery/judgement.js';
import { troubleOf } from '../../storage/trouble.js';
import { checkFolder } from '../replay/input/replay-journal.js';
import { type CopyEnd, copyJournal, lastTimeOf } from './copy-journal.js';
import {
  closeCopy,
  contains,
  copySecret,
  copySnapshot,
  finishCopy,
  mustBeApart,
  mustBeNew,
  mustBeNewOrCopy,
  mustHaveGoodSecret,
  OperationRefused,
  openCopy,
  orNothing,
} from './folders.js';

interface FolderCopy {
  from: string;
  to: string;
}

export interface CopyReport {
  before: number;
  end: JournalPosition;
  /** The snapshot in the copy; 0 if none. */
  snapshotSequence: number;
  /**
   * Whether nothing was left out. A shorter copy has no session secret: the exchange on it reuses
   * user ids, and an omitted user's token must not be valid for the next user with that id.
   */
  isWhole: boolean;
  /** Acknowledged commands after the copy's end, by journal.head; null if unknown. */
  lost: number | null;
  /** The damage of the original; the copy has everything undamaged. null if there is none. */
  damage: JournalError | null;
}

/** Adds the undamaged part to an existing copy. @throws OperationRefused, JournalError */
export async function backup(request: FolderCopy): Promise<CopyReport> {
  const { from, to } = request;
  mustBeNewOrCopy(to);
  mustHaveGoodSecret(from);
  const before = listSegments(to).length === 0 ? null : await endOf(to);
  try {
    await checkFolder(from);
    return await readJournal(from, async (reader) => {
      const { sequence } = await reader.end();
      return copyFolder({ from, to, upTo: { sequence }, endSequence: sequence, reader });
    });
  } catch (error) {
    if (before === null || !isDamage(error)) throw error;
    // The damage may be in the copy.
    await judgeFolder(to, { acceptMissingMark: false, acceptUnfinished: true });
    return addWhole(request, before, error);
  }
}

/** Whether the journal's content is wrong, rather than the folder in use or unfinished. */
function isDamage(error: unknown): error is JournalError {
  return error instanceof JournalError && error.firstBadSequence !== null;
}

async function endOf(folder: string): Promise<JournalPosition> {
  return readJournal(folder, (reader) => reader.end());
}

async function addWhole(
  { from, to }: FolderCopy,
  { sequence: before }: JournalPosition,
  damage: JournalError,
): Promise<CopyReport> {
  const all = { from, to, upTo: null, endSequence: Number.POSITIVE_INFINITY };
  try {
    await readJournal(from, (reader) => copyFolder({ ...all, reader }));
  } catch (error) {
    // The readable part does not contain the copy's end, so there is nothing to add.
    if (!isDamage(error) && !(error instanceof OperationRefused)) throw error;
  }
  return { before, end: await endOf(to), snapshotSequence: 0, isWhole: true, lost: 0, damage };
}

/**
 * Copies a folder into a new one, up to the last batch before a sequence or a time; null: all of
 * it. Commands after that point may be damaged or lost.
 * @throws OperationRefused if the journal ends before the point; JournalError if it is damaged
 * before the point.
 */
export async function restore({ from, to, at }: FolderCopy & { at: CopyEnd }): Promise<CopyReport> {
  await checkFolder(from);
  mustBeNew(to);
  return readJournal(from, async (reader) => {
    const end = await reader.end().catch((error: unknown) => {
      if (at === null || !isDamage(error)) throw error;
      return null;
    });
    if (at !== null && end !== null) await mustReach(reader, at, end.sequence);
    const endSequence = end?.sequence ?? Number.POSITIVE_INFINITY;
    return copyFolder({ from, to, upTo: at, endSequence, reader });
  });
}

/** Refuses a point beyond the end of the journal, which may be a typing error. */
async function mustReach(
  reader: JournalReader,
  at: NonNullable<CopyEnd>,
  endSequence: number,
): Promise<void> {
  const last = endSequence === 0 ? null : await reader.batchWith(endSequence);
  const endMs = last === null ? 0 : lastTimeOf(last);
  if ('sequence' in at ? at.sequence <= endSequence : at.atMs <= endMs) return;
  const point = 'sequence' in at ? `sequence ${at.sequence}` : new Date(at.atMs).toISOString();
  throw new OperationRefused(
    `the journal ends at sequence ${endSequence}, ${new Date(endMs).toISOString()}, before ` +
      `${point}. Nothing was copied. Name an earlier point, or leave out --at to restore all of it`,
  );
}

interface CopyRequest {
  from: string;
  to: string;
  upTo: CopyEnd;
  /** The last sequence to copy. */
  endSequence: number;
  reader: JournalReader;
}

async function copyFolder(request: CopyRequest): Promise<CopyReport> {
  const { from, to } = request;
  mustBeApart(from, to);
  refuseUnfinished(from);
  return orNothing(to, () => copyInto(request));
}

async function copyInto(request: CopyRequest): Promise<CopyReport> {
  const { from, to, upTo, endSequence, reader } = request;
  const target = await openCopy(to);
  const before = target.end.sequence;
  try {
    await mustBeOf(reader, target, to);
    const { sequence } = await copyJournal(reader, target, upTo);
    if (upTo !== null && sequence === 0)
      throw new OperationRefused('the first batch ends after --at, so nothing would be copied');
  } catch (error) {
    throw error instanceof JournalNotWritten ? notCopied(to, error) : error;
  } finally {
    await closeCopy(to, target);
  }
  const isWhole = target.end.sequence >= endSequence;
  if (isWhole) await copySecret(from, to);
  const snapshotSequence = await copySnapshot(from, to);
  await finishCopy(to);
  const { end } = target;
  const mark = readMark(join(from, HEAD_FILE));
  const lost = mark.state === 'read' ? Math.max(0, mark.mark.sequence - end.sequence) : null;
  return { before, end, snapshotSequence, isWhole, lost, damage: null };
}

/** Replaces the message for a trading exchange, whose advice does not apply to a copy. */
function notCopied(to: string, { cause }: JournalNotWritten): JournalError {
  return new JournalError(
    {
      problem:
        `the copy in ${to} could not be written: ${troubleOf(cause).problem}. A new copy is removed; ` +
        'an earlier backup is unchanged or has been extended',
      file: to,
      remedy: 'Free or repair the disk, and copy again',
    },
    null,
    cause,
  );
}

async function mustBeOf(reader: JournalReader, target: Journal, to: string): Promise<void> {
  const next = target.end.sequence + 1;
  if (next < reader.firstSequence) throw reader.missing(next);
  if (await contains(reader, target.end)) return;
  // A damaged journal may lack the segment with that end.
  await reader.checkJoints();
  const end = await reader.end();
  if (await readJournal(to, (copy) => contains(copy, end)))
    throw new OperationRefused(
      `${to} contains the whole journal that would be copied, and more: are --data and --to swapped? ` +
        'Nothing was changed',
    );
  throw new OperationRefused(
    `${to} contains a different journal: it differs from this one at sequence ` +
      `${target.end.sequence} at the latest. It is a copy of a different exchange, or of this one ` +
      'before a restore. Name a new folder',
  );
}
