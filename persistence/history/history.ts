/**
 * The history and the leaderboards, as the trading thread asks for them. Nothing here waits: a request is a message to
 * the follower's thread, and its answer a call back.
 *
 * Always holds: an answer is never older than the sequence that was asked for. Where the follower is more than 2 s
 * behind, or an answer takes longer, it is `unavailable`; every request is answered once.
 */
import type { HistoryKind, HistoryOutcome, HistoryRequest, RequestOf } from './requests.js';

/** How far the follower may be behind, and how long an answer may take. */
export const HISTORY_LAG_MAX_MS = 2_000;
/** How often requests that wait are looked at. */
const SWEEP_MS = 250;
/** Requests that may wait. */
const PENDING_MAX = 10_000;

type Done = (outcome: HistoryOutcome) => void;

export interface HistoryLink {
  send(id: number, request: HistoryRequest, minSequence: number): void;
  /** Time since the oldest commit that is not in the history. */
  lagMs(): number;
  elapsedMs(): number;
  /** Why nothing can be answered; null while the follower works. */
  problem(): string | null;
}

export class History {
  private readonly pending = new Map<number, { done: Done; askedMs: number }>();
  private lastId = 0;
  private sweeper: NodeJS.Timeout | null = null;

  constructor(private readonly link: HistoryLink) {}

  /**
   * Asks; `done` is called once, possibly before this returns. The answer is true at a sequence of at least
   * `minSequence`: the durable one when the request came, so that what a client was told is in it.
   */
  read<Kind extends HistoryKind>(
    request: RequestOf<Kind>,
    minSequence: number,
    done: (outcome: HistoryOutcome<Kind>) => void,
  ): void {
    const problem = this.link.problem() ?? this.refusal();
    if (problem !== null) {
      done({ outcome: 'unavailable', reason: problem });
      return;
    }
    const id = ++this.lastId;
    // The answer to a request is of the request's kind.
    this.pending.set(id, { done: done as Done, askedMs: this.link.elapsedMs() });
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS);
    this.link.send(id, request, minSequence);
  }

  /** Called with what the follower answers. */
  answered(id: number, outcome: HistoryOutcome): void {
    const read = this.pending.get(id);
    // It took too long, and was answered then.
    if (read === undefined) return;
    this.pending.delete(id);
    this.stopSweeping();
    read.done(outcome);
  }

  /** Answers all that wait. */
  end(reason: string): void {
    const reads = [...this.pending.values()];
    this.pending.clear();
    this.stopSweeping();
    for (const { done } of reads) done({ outcome: 'unavailable', reason });
  }

  private refusal(): string | null {
    const lagMs = this.link.lagMs();
    if (lagMs > HISTORY_LAG_MAX_MS) return `the history is ${Math.round(lagMs)} ms behind`;
    return this.pending.size >= PENDING_MAX ? 'too many reads of the history are waiting' : null;
  }

  private sweep(): void {
    const askedBeforeMs = this.link.elapsedMs() - HISTORY_LAG_MAX_MS;
    for (const [id, { askedMs }] of this.pending) {
      if (askedMs > askedBeforeMs) break;
      this.answered(id, { outcome: 'unavailable', reason: 'the history took too long to answer' });
    }
  }

  private stopSweeping(): void {
    if (this.pending.size > 0 || this.sweeper === null) return;
    clearInterval(this.sweeper);
    this.sweeper = null;
  }
}
