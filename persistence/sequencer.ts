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
 * A few clients that each wait for their answer would otherwise fall into two groups: while one
 * group's commands are written, the other waits for the disk, and each commit has half of the
 * possible commands. So after a small batch the next one waits until all of these clients have sent
 * again, or a turn of the event loop has brought no command. With many clients two groups are
 * faster, because they keep this thread busy while the disk writes. Two groups may also be faster
 * if a few orders have thousands of subscribers: the release writes to all of them before the next
 * batch begins.
 *
 * Invariants:
 * - the record of a command is in the open batch before the engine sees it, and the engine reads it
 *   there, so a command that cannot be journalled changes nothing;
 * - a command's sequence is its place in the journal: the engine is ahead of the journal only by
 *   the batches held here;
 * - targets are released in order of sequence, and only when the journal has reported that sequence
 *   as durable;
 * - while another exchange may lead (only a journal on PostgreSQL has others), nothing is released;
 * - after a failure (of a commit, of the engine, of a release) nothing more is committed or
 *   released, and `onFatal` is called once. The process must then end: memory is ahead of the disk,
 *   and only the journal is right.
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

/** When a batch's records have this many bytes, the next command starts another batch. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** Bounds memory; the gateway sheds load earlier. */
const BACKLOG_BYTES = 256 * 1024 * 1024;
/** Some forty orders take about as long to execute as the disk takes to write them. */
const FEW_BYTES = 2 * 1024;
/** Empty buffers that are kept for reuse. */
const SPARE_BUFFERS = 2;

export type SequencerLog = Pick<CommitLog, 'append' | 'close' | 'isSole' | 'whenSole'> & {
  readonly end: Pick<JournalPosition, 'sequence' | 'digest'>;
};

export interface SequencerOptions {
  /** Its state is that at the journal's end. */
  engine: Engine;
  journal: SequencerLog;
  /** Milliseconds since the epoch. May go back; the time of commands does not. */
  now: () => number;
  /** Milliseconds on a clock that never goes back. Default: waits are not measured. */
  elapsedMs?: () => number;
  /** Called once, after a failure; the process must end. */
  onFatal: (error: Error) => void;
  onCommit?: (durableSequence: number) => void;
  batchBytes?: number;
  backlogBytes?: number;
}

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
  failure: Error | null = null;
  batchesCommitted = 0;
  private open = new RecordBuffer();
  /** Closed batches that wait for the disk; more than one only if the disk is far behind. */
  private readonly closed: ClosedBatch[] = [];
  private inFlight: ClosedBatch | null = null;
  private readonly spare: RecordBuffer[] = [];
  private readonly waiting = new ReleaseQueue();
  private closedBytes = 0;

  private startScheduled = false;
  /** The number of commands that the next batch waits for; 0 if it does not wait. */
  private expected = 0;
  /** Its number of commands one turn of the event loop ago; -1 if no turn has passed. */
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

  get backlog(): number {
    return this.engine.sequence - this.durable;
  }

  get backlogBytes(): number {
    return this.open.byteLength + this.closedBytes;
  }

  get inFlightCommands(): number {
    return this.inFlight === null ? 0 : this.inFlight.buffer.count;
  }

  get waitingTargets(): number {
    return this.waiting.length;
  }

  /** Duration so far of the current commit; 0 if none. */
  get commitWaitMs(): number {
    return this.inFlight === null ? 0 : this.elapsedMs() - this.committingSinceMs;
  }

  private elapsedMs(): number {
    return this.options.elapsedMs?.() ?? 0;
  }

  /**
   * Executes a command and returns the engine's result, which is valid until the next submit. The
   * result may leave the process when `engine.sequence` is durable ({@link releaseAt}).
   * @throws RecordError for a command that the types do not allow, SubmitRefused if too much waits
   *   for the disk or the sequencer is closing; both change nothing. An error of the engine is
   *   thrown after onFatal.
   */
  submit(command: Command): NumberBuffer {
    const batch = this.batchForNext();
    return this.run(batch, batch.append(command, this.timeOfNext()));
  }

  /** {@link submit} for a command that is already a record. The record's time is ignored. */
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
   * Releases the target when everything up to `sequence` is durable. If it already is: before this
   * returns, or, within a release, after the earlier releases. Ordered by sequence, then by call.
   * Never after a failure.
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

  /** Call before the next command is applied: the digest is the batch's. */
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
      // Before the batch is recycled: its bytes count.
      const { isFew } = this;
      const commands = batch.buffer.count + this.open.count;
      this.recycle(batch.buffer);
      // Start the next commit first: the disk works while the answers are written.
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
    // Within a release, the running loop releases the target.
    if (this.releasing) return;
    this.releasing = true;
    const { journal } = this.options;
    try {
      // After a pause of the process another exchange may lead: then the waiting targets are never
      // sent.
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
