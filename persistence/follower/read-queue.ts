/**
 * The queue of reads. Leaderboards are served when the follower's engine has reached the requested
 * sequence and the board is ready. Reads of the database are served in groups, when the history is
 * at the engine's sequence. A group sees one transaction and one state of the engine, so each
 * answer is true at one sequence. At most one long read is in a group, at its end: pages of markets
 * with price histories, of statements and of orders delay only each other.
 *
 * Always holds: every read is answered once; if its session ends first, with `unavailable`.
 */
import type { Engine } from '../../engine/engine.js';
import {
  isStored,
  type PreparedAnswer,
  prepareAnswer,
  type StoredRequest,
} from '../history/answers.js';
import type { Leaderboards } from '../history/leaderboard/leaderboard.js';
import type { HistoryReads } from '../history/reads.js';
import type {
  HistoryAnswers,
  HistoryKind,
  HistoryReply,
  HistoryRequest,
  LeaderboardPage,
  RequestOf,
} from '../history/requests.js';
import { HistoryDamage } from '../history/rows.js';
import type { TrueAt } from '../history/true-at.js';
import { fileProblem } from '../storage/sqlite-codes.js';

/** They read many rows: pages of markets, and what is put together from several lists. */
const LONG: ReadonlySet<HistoryKind> = new Set([
  'pastMarketTexts',
  'ledger',
  'userOrders',
  'marketEvents',
]);

export type Answered = (reply: HistoryReply) => void;

type FollowerRequest = Exclude<HistoryRequest, { kind: 'journalBatch' }>;

export interface WaitingRead<Request = HistoryRequest> {
  request: Request;
  minSequence: number;
  done: Answered;
  /** Whether nobody waits for the answer any more: then it is not worked out. */
  isGivenUp: () => boolean;
}

export const GIVEN_UP = { status: 'unavailable', reason: 'nobody waits for it any more' } as const;

/** A read of a group, which is run after the group's transaction has begun. */
interface PreparedRead {
  run: PreparedAnswer;
  isLong: boolean;
  done: Answered;
}

interface ReadsOptions {
  engine: Engine;
  boards: Leaderboards;
  database: HistoryReads;
  /** The database cannot be read, or is damaged. */
  failed: (error: unknown) => void;
  /** Called when a group is done, or a board is ready: other reads may be served. */
  groupEnded: () => void;
  boardReady: () => void;
  boardsFailed: (error: unknown) => void;
}

export class FollowerReads {
  /** Settles when the last group has begun its transaction; before, nothing may be written. */
  begun: Promise<void> = Promise.resolve();
  private waiting: WaitingRead<FollowerRequest>[] = [];
  /** The unread rest of the current group; null: there is none. */
  private group: PreparedRead[] | null = null;
  private ended: string | null = null;

  constructor(private readonly options: ReadsOptions) {}

  read(read: WaitingRead<FollowerRequest>): void {
    if (this.ended !== null) read.done({ status: 'unavailable', reason: this.ended });
    else this.waiting.push(read);
  }

  /** Whether a read waits, for the engine or for its group. */
  get areWaiting(): boolean {
    return this.waiting.length > 0;
  }

  /** Whether a group could be served if the history were at the engine's sequence. */
  get areDue(): boolean {
    if (this.group !== null) return false;
    const { sequence } = this.options.engine;
    return this.waiting.some(
      ({ request, minSequence }) => minSequence <= sequence && isStored(request),
    );
  }

  serve(projectedSequence: number): void {
    if (this.waiting.length === 0) return;
    const { sequence, nowMs: atMs } = this.options.engine;
    const isGroupTime = this.group === null && projectedSequence === sequence;
    const group: PreparedRead[] = [];
    const waiting = this.waiting;
    this.waiting = [];
    for (const read of waiting) {
      const { request, minSequence, done } = read;
      const isLong = LONG.has(request.kind);
      if (read.isGivenUp()) done(GIVEN_UP);
      else if (minSequence > sequence) this.waiting.push(read);
      else if (!isStored(request)) this.serveBoard(request, read, { sequence, atMs });
      else if (!isGroupTime || (isLong && group.some((other) => other.isLong)))
        this.waiting.push(read);
      else group.push({ run: this.prepare(request), isLong, done });
    }
    if (group.length === 0) return;
    group.sort((a, b) => Number(a.isLong) - Number(b.isLong));
    this.startGroup(group, { sequence, atMs });
  }

  /** Those that wait for a board, which has failed. */
  refuseBoards(reason: string): void {
    const { waiting } = this;
    this.waiting = waiting.filter(({ request }) => isStored(request));
    for (const { request, done } of waiting)
      if (!isStored(request)) done({ status: 'unavailable', reason });
  }

  end(reason: string): void {
    this.ended = reason;
    for (const { done } of [...this.waiting, ...(this.group ?? [])])
      done({ status: 'unavailable', reason });
    this.waiting = [];
    this.group?.splice(0);
  }

  private startGroup(group: PreparedRead[], at: TrueAt): void {
    this.group = group;
    const begun = this.options.database.begin(at.sequence);
    // A failure is handled by the group.
    this.begun = begun.catch(() => {});
    void this.readGroup(group, begun, at);
  }

  private async readGroup(group: PreparedRead[], begun: Promise<void>, at: TrueAt): Promise<void> {
    const { database, failed, groupEnded } = this.options;
    let reading: PreparedRead | undefined;
    try {
      await begun;
      for (reading = group.shift(); reading !== undefined; reading = group.shift()) {
        const reply = await this.replyTo(reading, at);
        // Before the last answer: once all are sent, no call into SQLite is under way.
        if (group.length === 0) await database.end();
        reading.done(reply);
      }
    } catch (error) {
      const reason = (error as Error).message;
      if (reading !== undefined) group.push(reading);
      for (const { done } of group.splice(0)) done({ status: 'unavailable', reason });
      failed(error);
      return;
    }
    this.group = null;
    groupEnded();
  }

  private prepare(request: StoredRequest): PreparedAnswer {
    const { engine, database } = this.options;
    try {
      return prepareAnswer(engine, database, request);
    } catch (error) {
      return () => Promise.reject(error);
    }
  }

  /** A fault of one read, which is not one of the file, refuses that read alone. */
  private async replyTo({ run }: PreparedRead, at: TrueAt): Promise<HistoryReply> {
    try {
      return { status: 'ok', ...at, answer: await run() };
    } catch (error) {
      if (error instanceof HistoryDamage || fileProblem(error) !== null) throw error;
      return { status: 'unavailable', reason: String((error as Error).stack) };
    }
  }

  private serveBoard(
    request: RequestOf<'leaderboard' | 'rank'>,
    read: WaitingRead<FollowerRequest>,
    at: TrueAt,
  ): void {
    const { boards, boardReady, boardsFailed, groupEnded } = this.options;
    const { metric, period } = request;
    try {
      const board = boards.of(metric, period);
      if (board.isReady) {
        read.done({ status: 'ok', ...at, answer: this.fromEngine(request) });
        boardReady();
        return;
      }
      this.waiting.push(read);
      board.prepare(groupEnded, boardsFailed);
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
