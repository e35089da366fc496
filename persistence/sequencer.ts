/**
 * The sequencer: gives every command its sequence and time, applies it, and releases nothing about
 * it before it is durable.
 *
 *   submit → record in the open batch → engine → (one commit at a time) → durable → release
 *
 * Batches are group commits: while one is being written, the next fills, and it is written as soon
 * as the disk is free. When the disk is idle, a batch is written after the current events of the
 * event loop, so that commands that arrived together are committed together.
 *
 * A few clients that each wait for their answer would otherwise fall into two groups: while the
 * commands of one are being written, the other waits for the disk, and each commit has half of the
 * commands that it could have. So after a small batch the next one waits until all of these clients
 * have sent again, or a turn of the event loop has brought nothing. Many clients keep this thread
 * busy while the disk writes; there two groups are faster. They may also be faster where a few
 * orders have thousands of subscribers: the release writes to all of them before the next batch
 * begins.
 *
 * Always holds:
 * - the record of a command is in the open batch before the engine sees it, and the engine reads it
 *   there, so a command that cannot be journalled changes nothing;
 * - a command's sequence is its place in the journal: the engine is ahead of the journal only by
 *   the batches held here;
 * - targets are released in order of sequence, and only when the journal has reported that sequence
 *   as durable;
 * - while another exchange may lead (only a journal on PostgreSQL has others), nothing is released;
 * - after a failure (of a commit, of the engine, of a release) nothing is committed or released any
 *   more, and `onFatal` is called, once. The process must then end: memory is ahead of the disk,
 *   and only the journal has the truth.
 */
import type { Engine } from '../engine/engine.js';
import type { Command } from '../engine/interface/commands.js';
import { RecordBuffer } from '../engine/interface/records.js';
import type { NumberBuffer } from '../engine/storage/number-buffer.js';
import type { JournalError } from './journal/errors.js';
import { type BatchContent, bytesOf, type JournalPosition } from './journal/format.js';
import type { CommitLog } from './journal/store.js';
import { ReleaseQueue, type ReleaseTarget } from './release-queue.js';

export type { ReleaseTarget } from './release-queue.js';

/** When the records of a batch have this many bytes, the next command starts another batch. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** Bytes of records that may wait for the disk. It bounds memory; the gateway sheds load before. */
const BACKLOG_BYTES = 256 * 1024 * 1024;
/**
 * A batch and the commands that came meanwhile are few if their records have at most so many bytes:
 * some forty orders, which take about as long to execute as the disk takes to write them.
 */
const FEW_BYTES = 2 * 1024;
/** Empty buffers that are kept for reuse. */
const SPARE_BUFFERS = 2;

/** The part of a journal that the sequencer needs. */
export type SequencerLog = Pick<CommitLog, 'append' | 'close' | 'isSole' | 'whenSole'> & {
  readonly end: Pick<JournalPosition, 'sequence' | 'digest'>;
};

export interface SequencerOptions {
  /** At the end of the journal: new, or recovered from it. */
  engine: Engine;
  journal: SequencerLog;
  /** Milliseconds since the epoch. It may go back; the time of commands does not. */
  now: () => number;
  /** Milliseconds on a clock that does not go back. Default: waits are not measured. */
  elapsedMs?: () => number;
  /** Called once, after a failure; the process must end. */
  onFatal: (error: Error) => void;
  /** Called after each commit. */
  onCommit?: (durableSequence: number) => void;
  /** Default 4 MiB: the size at which a batch is closed. */
  batchBytes?: number;
  /** Default 256 MiB: the backlog at which `submit` refuses. */
  backlogBytes?: number;
}

/** The sequencer accepts no command now; this one was not executed. */
export class SubmitRefused extends Error {
  override name = 'SubmitRefused';
}

/** A batch that is being written or waits for the disk. */
interface ClosedBatch extends BatchContent {
  buffer: RecordBuffer;
}

export class Sequencer {
  readonly engine: Engine;
  private readonly batchBytes: number;
  private readonly backlogLimitBytes: number;

  private durable: number;
  /** The failure that has stopped the sequencer; null: there was none. */
  failure: Error | null = null;
  batchesCommitted = 0;
  private open = new RecordBuffer();
  /** Closed batches that wait for the disk; more than one only when the disk is far behind. */
  private readonly closed: ClosedBatch[] = [];
  private inFlight: ClosedBatch | null = null;
  private readonly spare: RecordBuffer[] = [];
  private readonly waiting = new ReleaseQueue();
  private closedBytes = 0;

  private startScheduled = false;
  /** The commands that the next batch waits for; 0: it does not wait. */
  private expected = 0;
  /** Those that it had one turn of the event loop ago; -1: no turn has passed. */
  private gathered = -1;
  private releasing = false;
  private committingSinceMs = 0;
  private closing = false;
  /** Called when everything is durable, or after a failure. */
  private settled: (() => void) | null = null;

  private readonly startWhenIdle = (): void => {
    const { count } = this.open;
    if (this.isFew && count > this.gathered && count < this.expected) {
      this.gathered = count;
      setImmediate(this.startWhenIdle);
      return;
    }
    this.startScheduled = false;
    this.startCommit();
  };
  private readonly onCommitted = (error: JournalError | null): void => this.committed(error);

  constructor(private readonly options: SequencerOptions) {
    const { engine, journal } = options;
    const { sequence, digest } = journal.end;
    if (engine.sequence !== sequence || (digest !== null && engine.digest() !== digest)) {
      throw new Error(
        `the engine is at ${engine.sequence}, but the journal ends at ${sequence}: recover first`,
      );
    }
    this.engine = engine;
    this.batchBytes = options.batchBytes ?? BATCH_BYTES;
    this.backlogLimitBytes = options.backlogBytes ?? BACKLOG_BYTES;
    this.durable = sequence;
    journal.whenSole?.(() => this.release());
  }

  /** Every command up to this sequence is on disk. */
  get durableSequence(): number {
    return this.durable;
  }

  /** Commands that are applied but not yet durable. */
  get backlog(): number {
    return this.engine.sequence - this.durable;
  }

  /** Bytes of the records of those commands. */
  get backlogBytes(): number {
    return this.open.byteLength + this.closedBytes;
  }

  /** Commands in the batch that is being written; 0: none is. */
  get inFlightCommands(): number {
    return this.inFlight === null ? 0 : this.inFlight.buffer.count;
  }

  get waitingTargets(): number {
    return this.waiting.length;
  }

  /** How long the batch that is being written has taken so far; 0: none is. */
  get commitWaitMs(): number {
    return this.inFlight === null ? 0 : this.elapsedMs() - this.committingSinceMs;
  }

  private elapsedMs(): number {
    return this.options.elapsedMs?.() ?? 0;
  }

  /**
   * Executes a command and returns the engine's result, which is valid until the next submit. The
   * result may leave the process when `engine.sequence` is durable ({@link releaseAt}).
   * @throws RecordError for a command that the types do not allow, and SubmitRefused when too much
   *   waits for the disk or the sequencer is closing; both change nothing. When the engine throws,
   *   its error, after onFatal.
   */
  submit(command: Command): NumberBuffer {
    const batch = this.batchForNext();
    return this.run(batch, batch.append(command, this.timeOfNext()));
  }

  /** {@link submit} for a command that is already a record. Its own time does not count. */
  submitRecord(records: RecordBuffer, at: number): NumberBuffer {
    const batch = this.batchForNext();
    return this.run(batch, batch.appendCopy(records, at, this.timeOfNext()));
  }

  private batchForNext(): RecordBuffer {
    if (this.failure !== null || this.closing || this.backlogBytes >= this.backlogLimitBytes)
      throw this.refusal();
    if (this.open.byteLength >= this.batchBytes) this.closeBatch();
    return this.open;
  }

  private timeOfNext(): number {
    return Math.max(this.engine.nowMs, this.options.now());
  }

  private run(batch: RecordBuffer, at: number): NumberBuffer {
    const { engine } = this;
    try {
      engine.applyRecord(batch, at);
    } catch (error) {
      this.fail(error as Error);
      throw error;
    }
    if (this.inFlight === null) this.scheduleStart();
    return engine.result;
  }

  private scheduleStart(): void {
    if (this.startScheduled) return;
    this.startScheduled = true;
    setImmediate(this.startWhenIdle);
  }

  /**
   * Releases the target as soon as everything up to `sequence` is durable. If it already is: before
   * this returns, or, when called within a release, after the releases that precede it. In order of
   * sequence, then of the calls. Never after a failure.
   */
  releaseAt(sequence: number, target: ReleaseTarget): void {
    if (!(sequence >= 0 && sequence <= this.engine.sequence)) {
      throw new RangeError(`no command has the sequence ${sequence} yet`);
    }
    if (this.failure !== null) return;
    this.waiting.add(sequence, target);
    if (sequence <= this.durable) this.release();
  }

  /** Refuses new commands, commits and releases the rest, and closes. Rejects after a failure. */
  async close(): Promise<void> {
    if (this.closing) throw new Error('the sequencer is already closing');
    this.closing = true;
    if (!this.isSettled()) await new Promise<void>((resolve) => (this.settled = resolve));
    await this.options.journal.close();
    if (this.failure !== null) throw this.failure;
  }

  private isSettled(): boolean {
    return this.inFlight === null && (this.failure !== null || this.backlog === 0);
  }

  private settle(): void {
    if (this.isSettled()) this.settled?.();
  }

  private refusal(): SubmitRefused {
    if (this.failure !== null) {
      return new SubmitRefused(`the exchange has stopped: ${this.failure.message}`, {
        cause: this.failure,
      });
    }
    return new SubmitRefused(
      this.closing ? 'the exchange is closing' : 'too many commands wait for the disk',
    );
  }

  /** Before the next command is applied: the digest is that after the batch's last command. */
  private closeBatch(): void {
    const buffer = this.open;
    const lastSequence = this.engine.sequence;
    this.closed.push({
      buffer,
      firstSequence: lastSequence - buffer.count + 1,
      lastSequence,
      records: bytesOf(buffer),
      digest: this.engine.digest(),
    });
    this.closedBytes += buffer.byteLength;
    this.open = this.spare.pop() ?? new RecordBuffer();
  }

  private startCommit(): void {
    if (this.failure !== null || this.inFlight !== null) return;
    if (this.closed.length === 0 && this.open.count > 0) this.closeBatch();
    const batch = this.closed.shift();
    if (batch === undefined) return;
    this.inFlight = batch;
    this.committingSinceMs = this.elapsedMs();
    this.expected = 0;
    try {
      this.options.journal.append(batch, this.onCommitted);
    } catch (error) {
      this.inFlight = null;
      this.fail(error as Error);
    }
  }

  private committed(error: JournalError | null): void {
    const batch = this.inFlight!;
    this.inFlight = null;
    if (error !== null) this.fail(error);
    if (this.failure === null) {
      this.durable = batch.lastSequence;
      this.batchesCommitted++;
      // Before the batch is recycled: its bytes count, too.
      const { isFew } = this;
      const commands = batch.buffer.count + this.open.count;
      this.recycle(batch.buffer);
      // First the next commit: the disk works while the replies are written.
      if (isFew) this.gather(commands);
      else this.startCommit();
      this.options.onCommit?.(this.durable);
      this.release();
    }
    this.settle();
  }

  private get isFew(): boolean {
    return this.closed.length === 0 && this.backlogBytes <= FEW_BYTES;
  }

  /** The next batch waits for as many commands as there were before the answers. */
  private gather(commands: number): void {
    this.expected = commands;
    this.gathered = -1;
    if (this.open.count > 0) this.scheduleStart();
  }

  private recycle(buffer: RecordBuffer): void {
    this.closedBytes -= buffer.byteLength;
    buffer.clear();
    if (this.spare.length < SPARE_BUFFERS) this.spare.push(buffer);
  }

  private release(): void {
    // Called within a release: the running loop releases the target.
    if (this.releasing) return;
    this.releasing = true;
    const { journal } = this.options;
    try {
      // A process that was paused may find that another one leads: what waits is then never sent.
      while (this.failure === null && (journal.isSole === undefined || journal.isSole())) {
        const target = this.waiting.take(this.durable);
        if (target === null) break;
        target.release();
      }
    } catch (error) {
      this.fail(error as Error);
    } finally {
      this.releasing = false;
    }
  }

  private fail(error: Error): void {
    if (this.failure !== null) return;
    this.failure = error;
    this.waiting.clear();
    this.options.onFatal(error);
    this.settle();
  }
}
