/**
 * A closed loop: each command that becomes durable is followed by the next.
 *
 * Invariant: every submitted command was released. A loop that ran the whole list ends with the
 * plan's digest.
 */
import { Engine } from '../../engine/engine.js';
import type { Durability } from '../../persistence/journal/open-segment.js';
import type { CommitLog } from '../../persistence/journal/store.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { type ReleaseTarget, Sequencer } from '../../persistence/sequencer.js';
import { Samples } from '../../test/support/processes/samples.js';
import type { Workload } from '../../test/support/workload/workload.js';

export interface LoopOptions {
  workload: Workload;
  /** Must be empty. */
  folder: string;
  durability: Durability;
  outstanding: number;
  /** Infinity runs the loop to the end of the command list. */
  seconds: number;
  onCommit?: (durableSequence: number) => void;
  /** Submits nothing while true; an exchange would refuse the command. */
  isHeld?: () => boolean;
}

export interface LoopResult {
  commands: number;
  batches: number;
  seconds: number;
  /** From submit to durable. */
  latencyMs: Samples;
  /** Of the engine and the journal. */
  endSequence: number;
  digest: string;
}

const LOOK_MS = 1;

/** Runs the workload's setup first, on a new engine and a new journal. */
export async function runClosedLoop(options: LoopOptions): Promise<LoopResult> {
  return runOnJournal(options, await openJournal(options));
}

/** On a given empty journal, which is closed at the end. */
export async function runOnJournal(
  options: Omit<LoopOptions, 'folder' | 'durability'>,
  journal: CommitLog,
): Promise<LoopResult> {
  const loop = new ClosedLoop(options, journal);
  const result = await loop.run();
  await loop.sequencer.close();
  return result;
}

class ClosedLoop {
  readonly sequencer: Sequencer;
  private atMs = 0;
  private next = 0;
  private running = 0;
  private deadlineMs = 0;
  private readonly held: Outstanding[] = [];
  private readonly latencyMs: Samples;
  private finished: (() => void) | null = null;
  private failed: ((error: Error) => void) | null = null;

  constructor(
    private readonly options: Omit<LoopOptions, 'folder' | 'durability'>,
    journal: CommitLog,
  ) {
    this.latencyMs = new Samples(options.workload.commands.length);
    this.sequencer = new Sequencer({
      engine: new Engine(),
      journal,
      now: () => this.atMs,
      onFatal: (error) => this.fail(error),
      onCommit: options.onCommit ?? (() => {}),
    });
  }

  async run(): Promise<LoopResult> {
    const { sequencer } = this;
    const { workload, outstanding } = this.options;
    await this.setUp();
    globalThis.gc?.();
    const batchesBefore = sequencer.batchesCommitted;
    const startedMs = performance.now();
    this.deadlineMs = startedMs + this.options.seconds * 1_000;
    await new Promise<void>((resolve, reject) => {
      this.finished = resolve;
      this.failed = reject;
      for (let i = 0; i < outstanding; i++) this.submitNext(new Outstanding(this));
    });
    const seconds = (performance.now() - startedMs) / 1_000;
    const batches = sequencer.batchesCommitted - batchesBefore;
    if (this.latencyMs.count !== this.next) throw new Error('commands were not released');
    const digest = sequencer.engine.digest();
    if (this.next === workload.commands.length && digest !== workload.digest) {
      throw new Error('the engine ended with a different digest than the plan');
    }
    const { next: commands, latencyMs } = this;
    const endSequence = sequencer.engine.sequence;
    return { commands, batches, seconds, latencyMs, endSequence, digest };
  }

  released(outstanding: Outstanding): void {
    const nowMs = performance.now();
    this.latencyMs.add(nowMs - outstanding.submittedMs);
    this.running--;
    if (this.options.isHeld?.() === true) this.hold(outstanding);
    else this.goOn(outstanding, nowMs);
  }

  private goOn(outstanding: Outstanding, nowMs: number): void {
    if (nowMs < this.deadlineMs && this.next < this.options.workload.commands.length)
      this.submitNext(outstanding);
    else if (this.running + this.held.length === 0) this.finished!();
  }

  private hold(outstanding: Outstanding): void {
    if (this.held.push(outstanding) === 1) setTimeout(this.lookAgain, LOOK_MS);
  }

  private readonly lookAgain = (): void => {
    if (this.options.isHeld!()) {
      setTimeout(this.lookAgain, LOOK_MS);
      return;
    }
    const nowMs = performance.now();
    while (this.held.length > 0) this.goOn(this.held.pop()!, nowMs);
  };

  private fail(error: Error): void {
    if (this.failed === null) throw error;
    this.failed(error);
  }

  private submitNext(outstanding: Outstanding): void {
    const { sequencer } = this;
    const { commands } = this.options.workload;
    const i = this.next++;
    this.running++;
    this.atMs = commands.atMs(i);
    outstanding.submittedMs = performance.now();
    sequencer.submitRecord(commands.records, commands.at(i));
    sequencer.releaseAt(sequencer.engine.sequence, outstanding);
  }

  private async setUp(): Promise<void> {
    const { sequencer } = this;
    for (const { command, atMs } of this.options.workload.setup) {
      this.atMs = atMs;
      sequencer.submit(command);
    }
    await new Promise<void>((resolve, reject) => {
      this.failed = reject;
      sequencer.releaseAt(sequencer.engine.sequence, { release: resolve });
    });
  }
}

class Outstanding implements ReleaseTarget {
  submittedMs = 0;

  constructor(private readonly loop: ClosedLoop) {}

  release(): void {
    this.loop.released(this);
  }
}
