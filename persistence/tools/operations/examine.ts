/**
 * `doctor`'s findings in a data folder: how startup judges it, the result of checking everything,
 * and how far its journal can be read.
 *
 * Invariant: nothing is created, changed or deleted. The code of startup decides whether an
 * exchange starts: the judgement, and the recovery from the newest usable snapshot.
 */
import { join } from 'node:path';
import { JournalError, MixedSegments } from '../../journal/errors.js';
import { HEAD_FILE, type JournalPosition } from '../../journal/format.js';
import { readMark } from '../../journal/head-mark.js';
import type { FoundJournal } from '../../journal/journal.js';
import { readJournal } from '../../journal/read-only.js';
import { type JournalReader, MissingSegments } from '../../journal/reader.js';
import type { JournalBatch } from '../../journal/store.js';
import {
  type JudgementOptions,
  judgeFolder,
  SegmentsNeeded,
  UnmarkedJournal,
} from '../../recovery/judgement.js';
import { recoverFromSnapshot } from '../../recovery/recovery.js';
import { listSnapshots } from '../../recovery/snapshot/folder.js';
import { SECRET_FILE, secretsIn } from '../../storage/session-secret.js';
import { troubleOf } from '../../storage/trouble.js';
import { contains } from './folders.js';

type Judged = FoundJournal | JournalError;

export interface Examined extends Readable {
  folder: string;
  asStart: Judged;
  /** The judgement of startup with ACCEPT_MISSING_MARK=on; null means the same as `asStart`. */
  accepted: Judged | null;
  asWhole: Judged;
  /**
   * The first damage found in the whole journal; null if there is none. Segments that were moved to
   * an archive do not count as damage.
   */
  damage: JournalError | null;
}

interface Readable {
  /** The last good sequence, read from the first segment present; 0 if none. */
  good: number;
  last: JournalBatch | null;
  /** The first readable command; 0 if nothing is readable. */
  firstSequence: number;
  /**
   * The last good sequence after the backup's end; null if the folder does not contain that end.
   */
  goodAfterBackup: number | null;
}

const NOTHING: Readable = { good: 0, last: null, firstSequence: 0, goodAfterBackup: null };

/** @param backup the findings in its backup; null if none was named, or this is the backup. */
export async function examine(folder: string, backup: Examined | null): Promise<Examined> {
  const asStart = await judgedByStart(folder);
  const accepted = asStart instanceof UnmarkedJournal ? await judgedByStart(folder, true) : null;
  const asWhole = await judged(folder, { acceptMissingMark: false, checkAll: true });
  const damage = asWhole instanceof JournalError ? asWhole : null;
  const read = (reader: JournalReader) => readableIn(reader, asWhole, backup);
  const readable = await readJournal(folder, read).catch(unlessDamage(NOTHING));
  return { folder, asStart, accepted, asWhole, damage, ...readable };
}

async function judged(folder: string, options: JudgementOptions): Promise<Judged> {
  try {
    return await judgeFolder(folder, options);
  } catch (error) {
    if (error instanceof JournalError) return error;
    throw error;
  }
}

const SILENT = { info: () => {}, warn: () => {} };

async function judgedByStart(folder: string, acceptMissingMark = false): Promise<Judged> {
  const found = await judged(folder, { acceptMissingMark });
  if (found instanceof JournalError) return found;
  try {
    const recover = (reader: JournalReader) =>
      recoverFromSnapshot({ folder, reader, log: SILENT, elapsedMs: () => 0 });
    if (!found.isNew) await readJournal(folder, recover);
    return secretProblem(folder) ?? found;
  } catch (error) {
    if (error instanceof JournalError) return error;
    if (error instanceof MissingSegments) return new SegmentsNeeded(error, null);
    throw error;
  }
}

function secretProblem(folder: string): JournalError | null {
  try {
    secretsIn(join(folder, SECRET_FILE));
    return null;
  } catch (error) {
    return new JournalError(troubleOf(error), null);
  }
}

function unlessDamage<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (error instanceof JournalError || error instanceof MissingSegments) return value;
    throw error;
  };
}

async function readableIn(
  reader: JournalReader,
  asWhole: Judged,
  backup: Examined | null,
): Promise<Readable> {
  const lastFrom = (after: JournalPosition) =>
    asWhole instanceof JournalError
      ? lastAfter(reader, after)
      : reader.batchWith(asWhole.end.sequence);
  const before = (await reader.positionAt(reader.firstSequence - 1))!;
  const last = await lastFrom(before);
  const { firstSequence } = reader;
  const found = { good: last?.lastSequence ?? 0, last, firstSequence };
  if (backup === null || backup.asWhole instanceof JournalError)
    return { ...found, goodAfterBackup: null };
  const { end } = backup.asWhole;
  const hasEnd = await contains(reader, end).catch(unlessDamage(false));
  const more = hasEnd ? await lastFrom(end) : null;
  return { ...found, goodAfterBackup: hasEnd ? (more?.lastSequence ?? end.sequence) : null };
}

/** The last batch that can be read in order, the way `restore` and `backup` read. */
async function lastAfter(reader: JournalReader, after: JournalPosition) {
  let last: JournalBatch | null = null;
  try {
    for await (const batch of reader.batches(after)) last = batch;
  } catch (error) {
    unlessDamage(null)(error);
  }
  return last;
}

/** Whether one of the folders lacks the last batch that both must have. */
export async function isOfAnother(data: Examined, backup: Examined): Promise<boolean> {
  const { asWhole, good, last, goodAfterBackup } = data;
  if (last === null || backup.last === null || backup.asWhole instanceof JournalError) return false;
  // It is unknown which segments of a mixture belong to the exchange.
  if (asWhole instanceof MixedSegments) return false;
  if (good >= backup.good) return goodAfterBackup === null;
  const end = { sequence: good, hash: last.hash, digest: last.digest };
  return !(await readJournal(backup.folder, (reader) => contains(reader, end)));
}

/** The last sequence known to be committed; null if unknown. */
export function acknowledgedIn({ folder, asStart, asWhole, good }: Examined): number | null {
  if (!(asStart instanceof JournalError)) return asStart.end.sequence;
  if (!(asWhole instanceof JournalError)) return asWhole.end.sequence;
  // A mark put back from a copy does not show what came after it.
  if (asStart instanceof UnmarkedJournal) return null;
  const state = readMark(join(folder, HEAD_FILE));
  const marked = state.state === 'read' ? state.mark.sequence : 0;
  const known = Math.max(marked, ...listSnapshots(folder).map(({ sequence }) => sequence));
  return known > good ? known : null;
}
