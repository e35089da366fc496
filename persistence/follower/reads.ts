/**
 * Reads that wait for their turn. Leaderboards are served as soon as the follower's engine has come to the sequence that they
 * ask for. What is in the database is served in groups, when the history stands where the engine does: all reads of a group
 * are of one transaction and of that one state of the engine, so that each answer is true as a whole at one sequence.
 *
 * A group has every read that is due, but one at most of those that are long, and that one comes last: pages of markets with
 * their price histories hold up only each other.
 *
 * Always holds: every read is answered once; one whose session ends before it was served is answered `unavailable`.
 */
import type { Engine } from '../../engine/engine.js';
import { type PreparedAnswer, prepareAnswer } from '../history/answers.js';
import { type HistoryReads, isStored, type StoredRequest } from '../history/reads.js';
import type {
  HistoryAnswers,
  HistoryKind,
  HistoryOutcome,
  HistoryRequest,
  LeaderboardPage,
  RequestOf,
} from '../history/requests.js';
import type { Leaderboards } from '../leaderboard/leaderboard.js';

export type Answered = (outcome: HistoryOutcome) => void;

interface WaitingRead {
  request: HistoryRequest;
  minSequence: number;
  done: Answered;
}

/** A read of a group, which can be run when the group's transaction has begun. */
interface PreparedRead {
  run: PreparedAnswer;
  isLong: boolean;
  done: Answered;
}

interface ReadsOptions {
  engine: Engine;
  boards: Leaderboards;
  database: HistoryReads;
  /** Called when the database gives something that is not what was written. */
  failed: (error: unknown) => void;
  /** Called when a group is over, and another may be served. */
  groupEnded: () => void;
}

export class FollowerReads {
  /**
   * Settles when the group that was served last has begun its transaction. Until then nothing may be written: the group would
   * see it.
   */
  begun: Promise<void> = Promise.resolve();
  private waiting: WaitingRead[] = [];
  /** The rest of the group that is being read; null: none is. */
  private group: PreparedRead[] | null = null;
  private ended: string | null = null;

  constructor(private readonly options: ReadsOptions) {}

  read(request: HistoryRequest, minSequence: number, done: Answered): void {
    if (this.ended !== null) done({ outcome: 'unavailable', reason: this.ended });
    else this.waiting.push({ request, minSequence, done });
  }

  /** Whether a read waits for more of the journal to be followed, or for its group. */
  get areWaiting(): boolean {
    return this.waiting.length > 0;
  }

  /** Whether a group could be served if the history stood where the engine does. */
  get areDue(): boolean {
    if (this.group !== null) return false;
    const { sequence } = this.options.engine;
    return this.waiting.some(({ request, minSequence }) => minSequence <= sequence && isStored(request));
  }

  /** Serves what may be served now. */
  serve(projectedSequence: number): void {
    if (this.waiting.length === 0) return;
    const { engine, database } = this.options;
    const { sequence } = engine;
    const isGroupTime = this.group === null && projectedSequence === sequence;
    const group: PreparedRead[] = [];
    const waiting = this.waiting;
    this.waiting = [];
    for (const read of waiting) {
      const { request, minSequence, done } = read;
      const isLong = request.kind === 'pastMarketTexts';
      if (minSequence > sequence) this.waiting.push(read);
      else if (!isStored(request)) done({ outcome: 'ok', sequence, answer: this.rank(request) });
      else if (!isGroupTime || (isLong && group.some((other) => other.isLong))) this.waiting.push(read);
      else group.push({ run: prepareAnswer(engine, database, request), isLong, done });
    }
    if (group.length === 0) return;
    group.sort((a, b) => Number(a.isLong) - Number(b.isLong));
    this.startGroup(group, sequence);
  }

  /** Answers everything that waits, and everything to come, with `unavailable`. */
  end(reason: string): void {
    this.ended = reason;
    for (const { done } of [...this.waiting, ...(this.group ?? [])]) done({ outcome: 'unavailable', reason });
    this.waiting = [];
    this.group?.splice(0);
  }

  private startGroup(group: PreparedRead[], sequence: number): void {
    this.group = group;
    const begun = this.options.database.begin(sequence);
    // Whoever waits for this only wants to know that it is over; that it failed is the group's.
    this.begun = begun.catch(() => {});
    void this.readGroup(group, begun, sequence);
  }

  private async readGroup(group: PreparedRead[], begun: Promise<void>, sequence: number): Promise<void> {
    const { database, failed, groupEnded } = this.options;
    let reading: PreparedRead | undefined;
    try {
      await begun;
      for (reading = group.shift(); reading !== undefined; reading = group.shift()) {
        const answer = await reading.run();
        // Before the last answer goes out, so that a thread whose reads are answered has nothing under way.
        if (group.length === 0) await database.end();
        reading.done({ outcome: 'ok', sequence, answer });
      }
    } catch (error) {
      const reason = (error as Error).message;
      if (reading !== undefined) group.push(reading);
      for (const { done } of group.splice(0)) done({ outcome: 'unavailable', reason });
      failed(error);
      return;
    }
    this.group = null;
    groupEnded();
  }

  private rank(
    request: RequestOf<Exclude<HistoryKind, StoredRequest['kind']>>,
  ): HistoryAnswers['leaderboard' | 'rank'] {
    const { boards, engine } = this.options;
    switch (request.kind) {
      case 'rank': {
        const { userId, metric, period } = request;
        return { account: engine.account(userId), rank: boards.rankOf(userId, metric, period) };
      }
      case 'leaderboard':
        return this.leaderboard(request);
    }
  }

  private leaderboard({ metric, period, limit, cursor }: RequestOf<'leaderboard'>): LeaderboardPage {
    const { boards, engine } = this.options;
    const page = boards.page(metric, period, limit + 1, cursor);
    const entries = page
      .slice(0, limit)
      .map((entry) => ({ ...entry, username: engine.account(entry.userId)!.username }));
    const last = entries.at(-1);
    const nextCursor =
      last === undefined || page.length <= limit ? null : { userId: last.userId, value: last.value };
    return { entries, nextCursor, atMs: engine.nowMs };
  }
}
