/**
 * Reads a journal, segment by segment (segments.ts), even while an exchange writes it.
 *
 * Invariant: a batch is returned only if it continues the hash chain, across segments; the first
 * that does not is named by a {@link JournalError}. Nothing is skipped: a missing or unopenable
 * segment ends the read where it would begin. If it would be the first, the read is refused with
 * {@link MissingSegments}.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { openReadOnly } from '../storage/read-only.js';
import { openDatabase } from '../storage/sqlite.js';
import {
  damageOf,
  JournalError,
  JournalUnavailable,
  MixedSegments,
  restoreCommand,
  UNCHANGED,
} from './errors.js';
import { FORMAT_VERSION, GENESIS, HEAD_FILE, type JournalPosition } from './format.js';
import { type Mark, type MarkState, readMark } from './head-mark.js';
import { SegmentReader } from './segment-reader.js';
import { listSegments, namesOf, type Segment, segmentAt } from './segments.js';
import { type JournalBatch, type JournalSource, positionAfter } from './store.js';

type OpenSegment = (segment: Segment, isLast: boolean) => Promise<sqlite3.Database>;

/** Needed segments are not in the folder: archived or lost. */
export class MissingSegments extends JournalUnavailable {
  override name = 'MissingSegments';
}

/** @throws JournalError for no journal, or another version; JournalUnavailable. */
export async function openJournalReader(
  folder: string,
  version = FORMAT_VERSION,
): Promise<JournalReader> {
  const mode = sqlite3.OPEN_READONLY | sqlite3.OPEN_FULLMUTEX;
  const open: OpenSegment = async ({ path }, isLast) =>
    isLast ? openDatabase(path, mode) : (await openReadOnly(path)).database;
  return openReader(folder, open, version);
}

export async function openReader(
  folder: string,
  open: OpenSegment,
  version = FORMAT_VERSION,
): Promise<JournalReader> {
  const reader = new JournalReader(folder, open, readMark(join(folder, HEAD_FILE)), version);
  try {
    await reader.openAll();
    return reader;
  } catch (error) {
    await reader.close();
    throw error;
  }
}

export class JournalReader implements JournalSource {
  readonly mayLag = false;
  readonly segments: SegmentReader[] = [];
  /** Segments that cannot be opened, by number. */
  private readonly broken = new Map<number, JournalError>();
  private readonly mark: Mark | null;

  /** @param markState read before the journal, so that the journal is never behind its mark. */
  constructor(
    private readonly folder: string,
    private readonly openSegment: OpenSegment,
    readonly markState: MarkState,
    private readonly version: number,
  ) {
    this.mark = markState.state === 'read' ? markState.mark : null;
  }

  async openAll(): Promise<void> {
    const found = listSegments(this.folder);
    for (const [i, segment] of found.entries()) await this.open(segment, i === found.length - 1);
    if (this.segments.length > 0) return;
    const [error] = this.broken.values();
    throw (
      error ?? new JournalError(`there is no journal at ${segmentAt(this.folder, 1).path}`, null)
    );
  }

  /** Missing or unreadable segments, not counting the last, each with its error. */
  lacking(): { segment: Segment; error: JournalError | null }[] {
    const numbers = this.segments.map(({ segment }) => segment.number);
    return Array.from({ length: numbers.at(-1)! }, (_, i) => segmentAt(this.folder, i + 1))
      .filter(({ number }) => !numbers.includes(number))
      .map((segment) => ({ segment, error: this.broken.get(segment.number) ?? null }));
  }

  get firstSequence(): number {
    return this.segments[0]!.start.sequence + 1;
  }

  async *batches(after: JournalPosition = GENESIS): AsyncGenerator<JournalBatch, void, void> {
    let position = after;
    let reader = this.segmentAfter(after.sequence);
    let readAgain = false;
    for (;;) {
      for await (const batch of reader.batches(position)) {
        position = positionAfter(batch);
        yield batch;
      }
      const next = await this.after(reader);
      if (next === null) break;
      // Rows may have been committed between the last read and the cut.
      readAgain = next.start.sequence > position.sequence && !readAgain;
      if (readAgain) continue;
      this.checkJoint(reader, next, position);
      await reader.release();
      reader = next;
    }
    this.last.checkEnd(position.sequence);
  }

  /**
   * The journal's end, after the checks of {@link batches}.
   * @param from the first sequence of interest: segments that end before it are not checked.
   * @param after the position before `from`: its segment is not checked before that position.
   * @throws JournalError as `batches` does.
   */
  async provenEnd(from = 1, after?: JournalPosition): Promise<JournalPosition> {
    const first = this.segments.indexOf(this.segmentAfter(from - 1));
    const wanted = this.segments.slice(first);
    let end = await wanted[0]!.provenEnd(after);
    for (const [i, reader] of wanted.slice(1).entries()) {
      this.checkJoint(wanted[i]!, reader, end);
      await wanted[i]!.release();
      end = await reader.provenEnd();
    }
    this.checkAfter(this.last, end.sequence);
    this.last.checkEnd(end.sequence);
    // The mark may be before `after`.
    await this.last.checkMarkedRow();
    return end;
  }

  /**
   * Checks from the last rows of each segment that the next segment continues it. Returns the
   * damage in those rows: startup does not need what is before its snapshot.
   * @param from the first sequence of interest: a segment that ends before it may be missing.
   * @throws JournalError if a segment is missing, or two are of different histories.
   */
  async checkJoints(from = 1): Promise<JournalError[]> {
    const damage: JournalError[] = [];
    for (const error of this.broken.values()) if (error instanceof MixedSegments) throw error;
    for (const [i, reader] of this.segments.slice(0, -1).entries()) {
      const next = this.segments[i + 1]!;
      const isNext = next.segment.number === reader.segment.number + 1;
      if (!isNext && next.start.sequence < from) continue;
      let end = next.start;
      try {
        end = await reader.end();
      } catch (error) {
        if (!(error instanceof JournalError)) throw error;
        damage.push(error);
      }
      await reader.release();
      this.checkJoint(reader, next, end);
    }
    return damage;
  }

  /**
   * The number of batches after the head mark; Infinity if the mark is before the segment; null if
   * an exchange writes, or without a mark.
   */
  async batchesAfterMark(): Promise<number | null> {
    const path = join(this.folder, HEAD_FILE);
    const before = readMark(path);
    if (before.state !== 'read') return null;
    await this.findNewSegments();
    const { sequence } = before.mark;
    const isBefore = sequence < this.last.start.sequence;
    const batches = isBefore ? Number.POSITIVE_INFINITY : await this.last.countAfter(sequence);
    const after = readMark(path);
    return after.state === 'read' && after.mark.sequence === sequence ? batches : null;
  }

  /** Checks SQLite's structure of the segments from `from` to the end. */
  async checkStructure(end: number, from = 1): Promise<void> {
    const first = this.segments.indexOf(this.segmentAfter(from - 1));
    for (const [i, reader] of this.segments.entries()) {
      if (i < first) continue;
      const next = this.segments[i + 1];
      await reader.checkStructure(next?.start.sequence ?? end);
      if (next !== undefined) await reader.release();
    }
  }

  /**
   * The journal's end, read from the last rows alone. @throws JournalError if they do not reach the
   * head mark
   */
  async end(): Promise<JournalPosition> {
    await this.findNewSegments();
    const end = await this.last.end();
    this.last.checkEnd(end.sequence);
    await this.last.checkMarkedRow();
    return end;
  }

  async positionAt(sequence: number): Promise<JournalPosition | null> {
    if (sequence === 0) return GENESIS;
    const { sequence: before } = this.segments[0]!.start;
    if (sequence < before) return null;
    return this.segmentAfter(sequence - 1, sequence === before).positionAt(sequence);
  }

  /**
   * The batch with this command; null if the journal ends before it. Not during another read.
   * @throws MissingSegments
   */
  async batchWith(sequence: number): Promise<JournalBatch | null> {
    await this.findNewSegments();
    const reader = this.segmentAfter(sequence - 1);
    const batch = await reader.batchWith(sequence);
    if (reader !== this.last) await reader.release();
    return batch;
  }

  async close(): Promise<void> {
    for (const reader of this.segments.splice(0)) await reader.release();
  }

  private get last(): SegmentReader {
    return this.segments.at(-1)!;
  }

  /** The segment with the command after `sequence`. */
  private segmentAfter(sequence: number, orFirst = false): SegmentReader {
    const found = this.segments.findLast(({ start }) => start.sequence <= sequence);
    if (found !== undefined) return found;
    if (orFirst) return this.segments[0]!;
    throw this.missing(sequence + 1);
  }

  /** The next segment, which may be new; null if there is none. */
  private async after(reader: SegmentReader): Promise<SegmentReader | null> {
    const at = this.segments.indexOf(reader);
    const known = this.segments[at + 1];
    if (known !== undefined) return known;
    const segment = segmentAt(this.folder, reader.segment.number + 1);
    if (!this.broken.has(segment.number)) {
      if (!existsSync(segment.path)) return null;
      const opened = await this.open(segment, true);
      if (opened !== null) return opened;
    }
    this.checkAfter(reader, (await reader.end()).sequence);
    return null;
  }

  private checkAfter({ segment }: SegmentReader, sequence: number): void {
    const error = this.broken.get(segment.number + 1);
    if (error !== undefined) throw new JournalError(error, sequence + 1, error.cause);
  }

  private checkJoint(before: SegmentReader, next: SegmentReader, end: JournalPosition): void {
    this.checkAfter(before, end.sequence);
    const number = before.segment.number + 1;
    if (next.segment.number !== number) throw this.gap(number, end.sequence);
    const { start } = next;
    const fits =
      start.sequence === end.sequence && start.hash.equals(end.hash) && start.digest === end.digest;
    if (!fits) throw next.otherHead(before.segment, end);
  }

  /** Looks for segments that were added to the folder since the last look. */
  private async findNewSegments(): Promise<void> {
    for (let next = await this.after(this.last); next !== null; next = await this.after(next));
  }

  /** Opens a segment; null if the file is not a segment yet. */
  private async open(segment: Segment, isLast: boolean): Promise<SegmentReader | null> {
    const connect = () => this.openSegment(segment, isLast);
    const reader = new SegmentReader(connect, segment, this.mark, this.version);
    let isSegment = false;
    try {
      isSegment = await reader.open();
    } catch (error) {
      // The segment may not be needed, and those before it are readable.
      if (!(error instanceof JournalError && error.firstBadSequence !== null)) throw error;
      this.broken.set(segment.number, error);
    } finally {
      if (!isSegment || !isLast) await reader.release();
    }
    if (!isSegment) return null;
    this.segments.push(reader);
    return reader;
  }

  private gap(number: number, good: number): JournalError {
    const { path } = segmentAt(this.folder, number);
    const what = ' is missing or empty, but later segments of the journal exist';
    return damageOf(path, what, good + 1);
  }

  /** Why the commands from `sequence` on, before the first segment, cannot be read. */
  missing(sequence: number): MissingSegments | JournalError {
    const first = this.segments[0]!.segment.number;
    const broken = this.broken.get(first - 1);
    if (broken !== undefined) return broken;
    const names = namesOf([segmentAt(this.folder, 1), segmentAt(this.folder, first - 1)]);
    return new MissingSegments({
      problem: `the commands from sequence ${sequence} on are in ${names}, and were moved to an archive`,
      file: this.folder,
      remedy: `${UNCHANGED} Bring the segments back; this works while the exchange trades: ${restoreCommand(this.folder)}`,
    });
  }
}
