/**
 * Overload: whether more comes in than the disk takes. Then changes are refused at once, before they are executed, rather than
 * queued until every client has given up; what was accepted is answered. Reads wait for the disk too, and are refused when
 * too many do.
 */
import type { Sequencer } from '../../persistence/sequencer.js';
import type { ElapsedMs } from './token-buckets.js';

export interface OverloadLimits {
  /** Commands that are executed and not yet on disk. */
  backlogCommands: number;
  /** Bytes of them. */
  backlogBytes: number;
  /** For how long nothing has become durable although something waits. */
  stallMs: number;
  /** Answers of all kinds that wait for the disk. */
  waitingAnswers: number;
}

/** The part of the sequencer that is looked at. */
export type Backlog = Pick<Sequencer, 'backlog' | 'backlogBytes' | 'durableSequence' | 'waitingTargets'>;

export class Overload {
  private durableSequence = -1;
  /** Since when the disk has been busy with what is at its turn now. */
  private sinceMs = 0;
  private refusedChanges = 0;
  private refusedReads = 0;

  constructor(
    private readonly sequencer: Backlog,
    private readonly limits: OverloadLimits,
    private readonly elapsedMs: ElapsedMs,
  ) {}

  /** Told after each command: from the first one on that waits, the disk has something to do. */
  applied(): void {
    if (this.sequencer.backlog > 1) return;
    this.durableSequence = this.sequencer.durableSequence;
    this.sinceMs = this.elapsedMs();
  }

  /** Asked for each change from outside: whether it must be refused. */
  refusesChange(): boolean {
    const { backlog, backlogBytes } = this.sequencer;
    const { limits } = this;
    const refuses =
      this.stalledMs() > limits.stallMs ||
      backlog >= limits.backlogCommands ||
      backlogBytes >= limits.backlogBytes ||
      this.sequencer.waitingTargets >= limits.waitingAnswers;
    if (refuses) this.refusedChanges++;
    return refuses;
  }

  /** Asked for each read from outside. */
  refusesRead(): boolean {
    const refuses = this.sequencer.waitingTargets >= this.limits.waitingAnswers;
    if (refuses) this.refusedReads++;
    return refuses;
  }

  /** Since the start. */
  get refusedCounts(): { changes: number; reads: number } {
    return { changes: this.refusedChanges, reads: this.refusedReads };
  }

  /** Progress is noticed when somebody asks, which is never too early. */
  private stalledMs(): number {
    const { backlog, durableSequence } = this.sequencer;
    const nowMs = this.elapsedMs();
    if (backlog === 0 || durableSequence !== this.durableSequence) {
      this.durableSequence = durableSequence;
      this.sinceMs = nowMs;
    }
    return nowMs - this.sinceMs;
  }
}
