/**
 * Reads that wait for their turn: until the follower has reached the sequence that they ask for, and then, those of the
 * database, one at a time.
 *
 * Always holds: every read is answered once; one whose session ends before it was served is answered `unavailable`.
 */
import type { Engine } from '../engine/engine.js';
import { type HistoryReads, isStored, type StoredRequest } from './history-reads.js';
import type {
  HistoryAnswers,
  HistoryKind,
  HistoryOutcome,
  HistoryRequest,
  LeaderboardPage,
  RequestOf,
} from './history-requests.js';
import type { Leaderboards } from './leaderboard.js';

export type Answered = (outcome: HistoryOutcome) => void;

interface WaitingRead {
  request: HistoryRequest;
  minSequence: number;
  done: Answered;
}

export class FollowerReads {
  private waiting: WaitingRead[] = [];
  private stored: { request: StoredRequest; done: Answered }[] = [];
  private reading = false;
  private ended: string | null = null;

  /** @param failed called when the database gives something that is not what was written. */
  constructor(
    private readonly engine: Engine,
    private readonly boards: Leaderboards,
    private readonly database: HistoryReads,
    private readonly failed: (error: unknown) => void,
  ) {}

  read(request: HistoryRequest, minSequence: number, done: Answered): void {
    if (this.ended !== null) done({ outcome: 'unavailable', reason: this.ended });
    else this.waiting.push({ request, minSequence, done });
  }

  /** Whether a read waits for more of the journal to be followed, or for a transaction. */
  get areWaiting(): boolean {
    return this.waiting.length > 0;
  }

  /** Serves what may be served now: leaderboards by where the engine is, the rest by where the history is. */
  serve(projectedSequence: number): void {
    if (this.waiting.length === 0) return;
    const waiting = this.waiting;
    this.waiting = [];
    for (const read of waiting) {
      const { request, minSequence, done } = read;
      if (minSequence > (isStored(request) ? projectedSequence : this.engine.sequence))
        this.waiting.push(read);
      else if (isStored(request)) this.stored.push({ request, done });
      else done({ outcome: 'ok', sequence: this.engine.sequence, answer: this.rank(request) });
    }
    void this.readStored();
  }

  /** Answers everything that waits, and everything to come, with `unavailable`. */
  end(reason: string): void {
    this.ended = reason;
    for (const { done } of [...this.waiting, ...this.stored]) done({ outcome: 'unavailable', reason });
    this.waiting = [];
    this.stored = [];
  }

  private async readStored(): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    for (let next = this.stored.shift(); next !== undefined; next = this.stored.shift()) {
      try {
        const { sequence, answer } = await this.database.read(next.request);
        next.done({ outcome: 'ok', sequence, answer });
      } catch (error) {
        next.done({ outcome: 'unavailable', reason: (error as Error).message });
        this.failed(error);
      }
    }
    this.reading = false;
  }

  private rank(
    request: RequestOf<Exclude<HistoryKind, StoredRequest['kind']>>,
  ): HistoryAnswers['leaderboard' | 'rank'] {
    switch (request.kind) {
      case 'rank':
        return this.boards.rankOf(request.userId, request.metric, request.period);
      case 'leaderboard':
        return this.leaderboard(request);
    }
  }

  private leaderboard({ metric, period, limit, cursor }: RequestOf<'leaderboard'>): LeaderboardPage {
    const page = this.boards.page(metric, period, limit + 1, cursor);
    const entries = page
      .slice(0, limit)
      .map((entry) => ({ ...entry, username: this.engine.account(entry.userId)!.username }));
    const last = entries.at(-1);
    const nextCursor =
      last === undefined || page.length <= limit ? null : { userId: last.userId, value: last.value };
    return { entries, nextCursor, atMs: this.engine.nowMs };
  }
}
