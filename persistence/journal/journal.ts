/**
 * The journal that an exchange writes: one SQLite transaction per batch, one at a time (format.ts),
 * into the last segment. When a segment is full, the next batch begins another (segments.ts).
 *
 * Invariant: a batch is reported as committed only when SQLite has synced it to disk (durability
 * `full`) and the head mark names it. After the first failure nothing more is written, and every
 * later call fails with that failure.
 */
import { join } from 'node:path';
import { closeDatabase, finalize } from '../storage/sqlite.js';
import { troubleOf } from '../storage/trouble.js';
import { JournalError, JournalNotWritten } from './errors.js';
import type { FolderLock } from './folder-lock.js';
import { type BatchContent, HEAD_FILE, hashOf, type JournalPosition } from './format.js';
import { HeadMark, type Mark } from './head-mark.js';
import { type Durability, type OpenSegment, openSegment } from './open-segment.js';
import { OwnFiles } from './own-files.js';
import { Sealing, type SealingLog } from './sealing.js';
import { listSegments, SEGMENT_BYTES, segmentAt } from './segments.js';
import { type CommitDone, type CommitLog, mustBeNext } from './store.js';

/** Approximate size of a row in the file, without its records. */
const ROW_BYTES = 100;

export interface FoundJournal {
  isNew: boolean;
  end: JournalPosition;
  /** Something unusual that the operator should know; null if there is nothing. */
  notice: string | null;
  /** Something normal that is worth a log line. */
  remark: string | null;
  /** Damaged or missing parts before the newest snapshot, which startup does not need. */
  damage: string | null;
}

export interface JournalOptions {
  folder: string;
  durability: Durability;
  segmentBytes?: number | undefined;
  /** Called when a file is no longer under its name. Nothing more is committed. */
  onLost?: ((error: JournalError) => void) | undefined;
  /** Logs segments that cannot be sealed. Default: no log. */
  log?: SealingLog | undefined;
}

const SILENT: SealingLog = { info: () => {}, error: () => {} };

export class Journal implements CommitLog {
  private failure: JournalError | null = null;
  private writing = false;
  private ownFiles: OwnFiles;

  private constructor(
    private readonly options: JournalOptions,
    readonly notice: string | null,
    public end: JournalPosition,
    private segment: OpenSegment,
    private readonly mark: HeadMark,
    private readonly lock: FolderLock,
    private readonly sealing: Sealing,
  ) {
    this.ownFiles = this.filesOf(segment);
  }

  get folder(): string {
    return this.options.folder;
  }

  /** Called by DataFolder. The journal releases `lock` when it is closed. */
  static async open(
    options: JournalOptions,
    found: FoundJournal,
    lock: FolderLock,
  ): Promise<Journal> {
    const { folder } = options;
    const mark = new HeadMark(join(folder, HEAD_FILE), markAt(found.end));
    try {
      const number = listSegments(folder).at(-1)?.number ?? 1;
      const sealing = new Sealing(options.log ?? SILENT);
      await sealing.sealLeft(folder);
      const segment = await openSegment(options, number, found.end);
      return new Journal(options, found.notice, found.end, segment, mark, lock, sealing);
    } catch (error) {
      await mark.close();
      throw error;
    }
  }

  /**
   * Commits the next batch, which must follow the journal's end, after the previous one is done.
   * The caller may change `records` after the call. `done` is always called later, never from
   * within.
   */
  append(batch: BatchContent, done: CommitDone): void {
    if (this.failure !== null) throw this.failure;
    if (this.writing) throw new Error('a batch is still being written');
    mustBeNext(batch, this.end);
    const { firstSequence, lastSequence, records, digest } = batch;
    const hash = hashOf(batch, this.end.hash);
    const settle = (error: Error | null) => {
      this.writing = false;
      const failure =
        error === null ? this.committed({ sequence: lastSequence, hash, digest }) : failed(error);
      this.failure ??= failure;
      done(this.failure);
    };
    this.writing = true;
    const isFull = this.segment.bytes >= this.segmentBytes;
    if (isFull || this.mark.mustSync) {
      const row = [firstSequence, lastSequence, Buffer.from(records), digest, hash];
      const ready = isFull ? this.cut() : this.mark.sync();
      ready.then(() => this.segment.insert.run(row, settle), settle);
      return;
    }
    this.segment.bytes += records.length + ROW_BYTES;
    this.segment.insert.run([firstSequence, lastSequence, records, digest, hash], settle);
  }

  private get segmentBytes(): number {
    return this.options.segmentBytes ?? SEGMENT_BYTES;
  }

  /** Begins the next segment after the journal's end, and seals the full one in the background. */
  private async cut(): Promise<void> {
    const full = this.segment;
    // Keeps the mark from being older than the last segment's beginning.
    await this.mark.sync();
    this.segment = await openSegment(this.options, full.number + 1, this.end);
    this.ownFiles.close();
    this.ownFiles = this.filesOf(this.segment);
    await finalize(full.insert);
    const { path } = segmentAt(this.folder, full.number);
    this.sealing.add(path, full.database);
  }

  /** Closes the journal and releases the folder. Not while a batch is being written. */
  async close(): Promise<void> {
    if (this.writing)
      throw new Error('the journal cannot be closed while a batch is being written');
    this.failure ??= new JournalError('the journal is closed', null);
    this.ownFiles.close();
    await this.sealing.close();
    await finalize(this.segment.insert);
    await this.mark.close();
    try {
      await closeDatabase(this.segment.database);
    } finally {
      await this.lock.release();
    }
  }

  private committed(end: JournalPosition): JournalError | null {
    try {
      this.mark.write(markAt(end));
    } catch (error) {
      return failed(error as Error);
    }
    this.end = end;
    return null;
  }

  private filesOf({ number }: OpenSegment): OwnFiles {
    const { path } = segmentAt(this.folder, number);
    return new OwnFiles([path, `${path}-wal`, join(this.folder, HEAD_FILE)], (problem) => {
      this.failure ??= problem;
      this.options.onLost?.(problem);
    });
  }
}

function markAt(end: JournalPosition): Mark {
  return { sequence: end.sequence, hash: end.hash };
}

function failed(error: Error): JournalNotWritten {
  const { problem, file, remedy } = troubleOf(error);
  return new JournalNotWritten(
    {
      problem:
        `the journal could not be written: ${problem}. Only commands that were not acknowledged ` +
        'may be lost',
      file,
      remedy: remedy ?? 'Free or repair the disk, and start again.',
    },
    null,
    error,
  );
}
