/**
 * Overload: requests arrive faster than the disk can store commands. Changes are then refused
 * before they execute, and reads when too many wait for the disk. Accepted commands are answered. A
 * history that is behind never causes a change to be refused.
 *
 * Cancels lower a client's risk: each limit has a reserve of a tenth for cancels, which are refused
 * only when the reserve is full. This bounds the number of waiting commands.
 */
import type { Sequencer } from '../../../persistence/sequencer.js';
import type { ElapsedMs } from './token-buckets.js';

export interface OverloadLimits {
  backlogCommands: number;
  backlogBytes: number;
  /** Maximum time without progress while commands wait for the disk. */
  stallMs: number;
  waitingAnswers: number;
}

export const OVERLOAD_LIMITS: OverloadLimits = {
  backlogCommands: 100_000,
  backlogBytes: 64 * 1024 * 1024,
  stallMs: 2_000,
  waitingAnswers: 50_000,
};

type Backlog = Pick<Sequencer, 'backlog' | 'backlogBytes' | 'durableSequence' | 'waitingTargets'>;

const RESERVE_PART = 10;

type Work = 'change' | 'cancel' | 'read';

export class Overload {
  private durableSequence = -1;
  /** When `durableSequence` last advanced, or the backlog was last empty. */
  private sinceMs = 0;
  readonly refusedCounts: Record<Work, number> = { change: 0, cancel: 0, read: 0 };

  constructor(
    private readonly sequencer: Backlog,
    private readonly limits: OverloadLimits,
    private readonly elapsedMs: ElapsedMs,
  ) {}

  /** Call after each command. The first waiting command starts the clock. */
  applied(): void {
    if (this.sequencer.backlog > 1) return;
    this.durableSequence = this.sequencer.durableSequence;
    this.sinceMs = this.elapsedMs();
  }

  refuse(work: Work): boolean {
    const refuses = this.isTooMuch(work);
    if (refuses) this.refusedCounts[work]++;
    return refuses;
  }

  private isTooMuch(work: Work): boolean {
    if (work === 'read') return this.sequencer.waitingTargets >= this.limits.waitingAnswers;
    if (work === 'cancel') return this.isFull(1 / RESERVE_PART);
    return this.stalledMs() > this.limits.stallMs || this.isFull(0);
  }

  /** Whether the disk queue has reached a limit, raised by the fraction `more`. */
  private isFull(more: number): boolean {
    const { backlog, backlogBytes, waitingTargets } = this.sequencer;
    const { limits } = this;
    return (
      backlog >= limits.backlogCommands + limits.backlogCommands * more ||
      backlogBytes >= limits.backlogBytes + limits.backlogBytes * more ||
      waitingTargets >= limits.waitingAnswers + limits.waitingAnswers * more
    );
  }

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
