/**
 * The trading thread's client of the history and the leaderboards. Nothing here blocks.
 *
 * Invariant: each request is answered once, never as of an earlier sequence than it asked for.
 * When the follower is more than 2 s behind, or takes longer, the reply is `unavailable`. The
 * number of requests that the follower has not answered, including those given up, is bounded: in
 * all, and for each reader, so that one reader takes a small share of them.
 */
import type { ReaderKey } from '../history/fair-read-scheduler.js';
import type { HistoryKind, HistoryReply, HistoryRequest, RequestOf } from '../history/requests.js';

/** The longest lag of the follower, and the longest time until an answer. */
export const HISTORY_LAG_MAX_MS = 2_000;
const SWEEP_MS = 250;
export const PENDING_MAX = 10_000;
export const PENDING_MAX_OF_ONE = PENDING_MAX / 20;

type Done = (reply: HistoryReply) => void;

export interface HistoryLink {
  send(id: number, request: HistoryRequest, minSequence: number, readerKey: ReaderKey): void;
  /**
   * Tells the follower that the client has given up the request with this id, so that reading ends.
   */
  giveUp(id: number): void;
  /** Time since the oldest commit that is not in the history. */
  lagMs(): number;
  elapsedMs(): number;
  /** Why no request can be answered; null while the follower works. */
  problem(): string | null;
}

/** A pending request; `done` is null if it was given up. */
interface PendingRead {
  readerKey: ReaderKey;
  done: Done | null;
  askedMs: number;
}

export class HistoryClient {
  /** Requests that the follower has not answered, by id, in the order in which they were sent. */
  private readonly pending = new Map<number, PendingRead>();
  /** The number of pending requests of each reader. */
  private readonly pendingOf = new Map<ReaderKey, number>();
  private lastId = 0;
  private sweeper: NodeJS.Timeout | null = null;

  constructor(private readonly link: HistoryLink) {}

  /**
   * Sends a request. `done` is called once, possibly before this returns. `minSequence`: the
   * durable sequence when the request came, so that the answer includes everything the client
   * knows. Reads of one reader are served one after another. Returns a function that gives the
   * request up: `done` is then not called.
   */
  read<Kind extends HistoryKind>(
    request: RequestOf<Kind>,
    minSequence: number,
    done: (reply: HistoryReply<Kind>) => void,
    readerKey: ReaderKey = 0,
  ): () => void {
    const problem = this.link.problem() ?? this.refusal(readerKey);
    if (problem !== null) {
      done({ status: 'unavailable', reason: problem });
      return () => {};
    }
    const id = ++this.lastId;
    // The answer has the request's kind.
    const read: PendingRead = { readerKey, done: done as Done, askedMs: this.link.elapsedMs() };
    this.pending.set(id, read);
    this.pendingOf.set(readerKey, (this.pendingOf.get(readerKey) ?? 0) + 1);
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS);
    this.link.send(id, request, minSequence, readerKey);
    return () => this.giveUp(id, read);
  }

  answered(id: number, reply: HistoryReply): void {
    const read = this.pending.get(id);
    if (read === undefined) return;
    this.pending.delete(id);
    const left = this.pendingOf.get(read.readerKey)! - 1;
    if (left === 0) this.pendingOf.delete(read.readerKey);
    else this.pendingOf.set(read.readerKey, left);
    this.stopSweeping();
    read.done?.(reply);
  }

  /** Answers all pending requests with `unavailable`. */
  end(reason: string): void {
    const reads = [...this.pending.values()];
    this.pending.clear();
    this.pendingOf.clear();
    this.stopSweeping();
    for (const { done } of reads) done?.({ status: 'unavailable', reason });
  }

  private refusal(readerKey: ReaderKey): string | null {
    const lagMs = this.link.lagMs();
    if (lagMs > HISTORY_LAG_MAX_MS) return `the history is ${Math.round(lagMs)} ms behind`;
    const ofOne = this.pendingOf.get(readerKey) ?? 0;
    if (ofOne >= PENDING_MAX_OF_ONE) return 'too many reads of one user or address are waiting';
    return this.pending.size >= PENDING_MAX ? 'too many reads of the history are waiting' : null;
  }

  private giveUp(id: number, read: PendingRead): void {
    if (read.done !== null && this.pending.has(id)) this.link.giveUp(id);
    read.done = null;
  }

  private sweep(): void {
    const askedBeforeMs = this.link.elapsedMs() - HISTORY_LAG_MAX_MS;
    const late: Done[] = [];
    for (const [id, read] of this.pending) {
      if (read.askedMs > askedBeforeMs) break;
      if (read.done !== null) late.push(read.done);
      this.giveUp(id, read);
    }
    const reason = 'the history took too long to answer';
    for (const done of late) done({ status: 'unavailable', reason });
  }

  private stopSweeping(): void {
    if (this.pending.size > 0 || this.sweeper === null) return;
    clearInterval(this.sweeper);
    this.sweeper = null;
  }
}
