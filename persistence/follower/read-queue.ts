/**
 * The queue of reads. Leaderboards are served when the follower's engine has reached the requested
 * sequence and the board is ready. Reads of the database begin when the history is at the engine's
 * sequence: then the lengths of the lists and what may still change are noted, so each answer is
 * true at one sequence. They continue while the history grows, because entries never change.
 *
 * Invariant: every read is answered once; if its session ends first, with `unavailable`. Each
 * reader (fair-read-scheduler.ts) has at most one read of the database under way; further ones
 * wait.
 */
import type { Engine } from '../../engine/engine.js';
import { isStored, prepareAnswer, type StoredRequest } from '../history/answers.js';
import type { AsOf } from '../history/as-of.js';
import {
  FairReadScheduler,
  type ReaderKey,
  ReadStopped,
  type RunQuery,
} from '../history/fair-read-scheduler.js';
import type { Leaderboards } from '../history/leaderboard/leaderboard.js';
import { HistoryPruned, PartUnavailable } from '../history/parts/files.js';
import type { HistoryReads } from '../history/reads.js';
import type {
  HistoryAnswers,
  HistoryReply,
  HistoryRequest,
  LeaderboardPage,
  RequestOf,
} from '../history/requests.js';
import { HistoryDamage } from '../history/rows.js';
import { fileProblem } from '../storage/sqlite-codes.js';

export type Answered = (reply: HistoryReply) => void;

type FollowerRequest = Exclude<HistoryRequest, { kind: 'journalBatch' }>;

export interface WaitingRead<Request = HistoryRequest> {
  request: Request;
  minSequence: number;
  readerKey: ReaderKey;
  done: Answered;
  /** Whether the client has given the read up, so that work on it ends. */
  isGivenUp: () => boolean;
}

export const GIVEN_UP = {
  status: 'unavailable',
  reason: 'no client waits for this read any longer',
} as const;

interface ReadsOptions {
  engine: Engine;
  boards: Leaderboards;
  /** The view that a read has of the history at this moment. */
  readsIn: (runQuery: RunQuery) => HistoryReads;
  /** The database cannot be read, or is damaged. */
  failed: (error: unknown) => void;
  /** Called when a read is answered, or a board is ready: other reads may be served. */
  readEnded: () => void;
  boardReady: () => void;
  boardsFailed: (error: unknown) => void;
}

export class FollowerReads {
  private waiting: WaitingRead<FollowerRequest>[] = [];
  /** The reader's read of the database that is in progress. */
  private readonly running = new Map<ReaderKey, WaitingRead>();
  private readonly scheduler = new FairReadScheduler();
  private ended: string | null = null;

  constructor(private readonly options: ReadsOptions) {}

  read(read: WaitingRead<FollowerRequest>): void {
    if (this.ended !== null) read.done({ status: 'unavailable', reason: this.ended });
    else this.waiting.push(read);
  }

  /** Whether a read is waiting, for the engine or for another read. */
  get areWaiting(): boolean {
    return this.waiting.length > 0;
  }

  /** Whether a read could begin if the history were at the engine's sequence. */
  get areDue(): boolean {
    const { sequence } = this.options.engine;
    return this.waiting.some(
      ({ request, minSequence, readerKey }) =>
        minSequence <= sequence && isStored(request) && !this.running.has(readerKey),
    );
  }

  serve(projectedSequence: number): void {
    if (this.waiting.length === 0) return;
    const { sequence, nowMs: atMs } = this.options.engine;
    const waiting = this.waiting;
    this.waiting = [];
    for (const read of waiting) {
      const { request, minSequence, readerKey, done } = read;
      if (read.isGivenUp()) done(GIVEN_UP);
      else if (minSequence > sequence) this.waiting.push(read);
      else if (!isStored(request)) this.serveBoard(request, read, { sequence, atMs });
      else if (projectedSequence !== sequence || this.running.has(readerKey))
        this.waiting.push(read);
      else void this.run(read, request, { sequence, atMs });
    }
  }

  /** Refuses the reads that wait for a leaderboard, because building one has failed. */
  refuseBoards(reason: string): void {
    const { waiting } = this;
    this.waiting = waiting.filter(({ request }) => isStored(request));
    for (const { request, done } of waiting)
      if (!isStored(request)) done({ status: 'unavailable', reason });
  }

  /** Answers all reads, without waiting for a query in progress. */
  end(reason: string): void {
    this.ended = reason;
    for (const { done } of [...this.waiting, ...this.running.values()])
      done({ status: 'unavailable', reason });
    this.waiting = [];
    this.running.clear();
  }

  /**
   * Prepares the read before this returns. If the read itself is at fault, rather than the file,
   * only this read is refused.
   */
  private async run(read: WaitingRead, request: StoredRequest, at: AsOf): Promise<void> {
    const { engine, readsIn, failed, readEnded } = this.options;
    const { readerKey, done } = read;
    this.running.set(readerKey, read);
    const runQuery = this.scheduler.of(readerKey, () => this.ended !== null || read.isGivenUp());
    let reply: HistoryReply;
    let failure: unknown = null;
    try {
      reply = {
        status: 'ok',
        ...at,
        answer: await prepareAnswer(engine, readsIn(runQuery), request)(),
      };
    } catch (error) {
      if (error instanceof HistoryDamage || fileProblem(error) !== null) failure = error;
      const { message, stack } = error as Error;
      const isExpected =
        failure !== null || error instanceof ReadStopped || error instanceof PartUnavailable;
      reply =
        error instanceof HistoryPruned
          ? { status: 'pruned', reason: message }
          : { status: 'unavailable', reason: isExpected ? message : String(stack) };
    }
    // If the session has ended, `end` has answered the read.
    if (!this.running.delete(readerKey)) return;
    done(reply);
    if (failure === null) readEnded();
    else failed(failure);
  }

  private serveBoard(
    request: RequestOf<'leaderboard' | 'rank'>,
    read: WaitingRead<FollowerRequest>,
    at: AsOf,
  ): void {
    const { boards, boardReady, boardsFailed, readEnded } = this.options;
    const { metric, period } = request;
    try {
      const board = boards.of(metric, period);
      if (board.isReady) {
        read.done({ status: 'ok', ...at, answer: this.fromEngine(request) });
        boardReady();
        return;
      }
      this.waiting.push(read);
      board.prepare(readEnded, boardsFailed);
    } catch (error) {
      read.done({ status: 'unavailable', reason: (error as Error).message });
      boardsFailed(error);
    }
  }

  private fromEngine(
    request: RequestOf<'leaderboard' | 'rank'>,
  ): HistoryAnswers['leaderboard' | 'rank'] {
    const { boards, engine } = this.options;
    if (request.kind === 'leaderboard') return this.leaderboard(request);
    const { userId, metric, period } = request;
    return { account: engine.account(userId), rank: boards.of(metric, period).rankOf(userId) };
  }

  private leaderboard(request: RequestOf<'leaderboard'>): LeaderboardPage {
    const { metric, period, limit, cursor } = request;
    const { boards, engine } = this.options;
    const page = boards.of(metric, period).page(limit + 1, cursor);
    const entries = page
      .slice(0, limit)
      .map((entry) => ({ ...entry, username: engine.account(entry.userId)!.username }));
    const last = entries.at(-1);
    const hasMore = last !== undefined && page.length > limit;
    const nextCursor = hasMore ? { userId: last.userId, value: last.value } : null;
    return { entries, nextCursor };
  }
}
