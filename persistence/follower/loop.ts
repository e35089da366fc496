/**
 * The follower's main loop: one session after another, until it is closed or the journal disagrees
 * with the exchange.
 *
 * - Damage in history.db is logged and the file removed; the next session rebuilds it.
 * - A journal that leads to another digest, or is damaged after the newest snapshot, is reported,
 *   and ends the loop.
 * - If the history is far behind the newest snapshot, or cannot be built because segments before it
 *   are missing or damaged, or does not work for long, another engine checks the journal's end from
 *   that snapshot and takes the snapshots, until the history's has caught up (end-check.ts).
 * - Any other failure (a full disk, say) is reported as trouble and retried, after a quarter of a
 *   second at first and ten seconds at most. Trading does not depend on it.
 *
 * Reads that come before the first session is open wait for it; between sessions they are
 * `unavailable`. A session does not check the batches before its snapshot: those of the journal's
 * last segments were checked before the start (judgement.ts), or the follower itself has applied
 * them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { HistoryDamage } from '../history/rows.js';
import { removeHistory } from '../history/store.js';
import { JournalError, JournalUnavailable, partsOf, restoreCommand } from '../journal/errors.js';
import { MissingSegments } from '../journal/reader.js';
import { prepareSnapshotFolder } from '../recovery/snapshot/folder.js';
import { EndCheck } from './end-check.js';
import type { FromFollower } from './messages.js';
import type { WaitingRead } from './read-queue.js';
import { FollowerSession, newestSnapshot, type SessionOptions } from './session.js';

/** The pause after a failure; doubled for each further one, up to the longest. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
/** After so many failures in a row, several seconds, the journal's end does not wait any longer. */
const FAILURES_WITHOUT_CHECK = 5;

export type FollowerNews = Extract<FromFollower, { kind: 'disagreement' | 'trouble' }>;

export class FollowerLoop {
  private session: FollowerSession | null = null;
  /** Reads that came before the first session was open; null from then on. */
  private early: WaitingRead[] | null = [];
  private unavailable = '';
  private readonly stopped = new AbortController();
  private disagreed = false;
  private wasDamaged = false;
  /** Failures since the follower last caught up, and the last of them (null: none). */
  private failures = 0;
  private problem: string | null;
  private endCheck: EndCheck | null = null;
  private checking: Promise<void> | null = null;

  constructor(
    private readonly options: SessionOptions,
    private readonly report: (news: FollowerNews) => void,
    /** Why the thread before this one ended: solved when this one has caught up. */
    problem: string | null = null,
  ) {
    this.problem = problem;
  }

  /** Settles when the follower is closed or has found a disagreement. */
  async run(): Promise<void> {
    while (!this.isOver()) {
      try {
        // The files of the other engine, which may be writing one, are not a crash's.
        if (this.checking === null) await prepareSnapshotFolder(this.options.folder);
        this.session = await FollowerSession.open(this.options, () => this.endCheck);
        const { session } = this;
        if (session.isFarBehind) this.startEndCheck();
        // The follower may have been closed while the session was opened.
        if (this.isOver()) session.stop();
        this.forEachEarlyRead((read) => session.read(read));
        await session.run(() => this.caughtUp());
      } catch (error) {
        await this.recoverFrom(error);
      }
    }
    await this.closeSession('the follower has stopped');
    await this.checking;
  }

  /** Whether another session checks the journal's end beside the first. */
  get isCheckingEnd(): boolean {
    return this.checking !== null;
  }

  wake(): void {
    this.session?.wake();
  }

  read(read: WaitingRead): void {
    if (this.session !== null) this.session.read(read);
    else if (this.early !== null) this.early.push(read);
    else read.done({ status: 'unavailable', reason: this.unavailable });
  }

  close(): void {
    this.stopped.abort();
    this.session?.stop();
  }

  private isOver(): boolean {
    return this.disagreed || this.stopped.signal.aborted;
  }

  private async recoverFrom(error: unknown): Promise<void> {
    const { log, folder } = this.options;
    const isOld = error instanceof JournalError && this.isBeforeSnapshot(error);
    if (error instanceof JournalError && !isOld) {
      this.disagree(error);
      return;
    }
    if (error instanceof HistoryDamage) {
      const { table, row, message: problem } = error;
      const what = 'the history is damaged and will be rebuilt from the journal';
      log.error({ table, row, problem }, what);
      await this.closeSession('the history is being rebuilt');
      removeHistory(folder);
      if (this.wasDamaged) await this.pause();
      this.wasDamaged = true;
      return;
    }
    const { message: said, stack } = error as Error;
    // The tools take an option instead.
    const message =
      error instanceof MissingSegments
        ? `${partsOf(said).what} To bring them back, also while it trades: ${restoreCommand(folder)}`
        : said;
    this.problem = message;
    const problem = isOld || error instanceof JournalUnavailable ? message : String(stack);
    const isLost = isOld || error instanceof MissingSegments;
    const what = isLost
      ? 'there is no history, which cannot be built from this journal; trading goes on'
      : 'the follower has failed and will retry';
    log.error({ problem }, what);
    this.report({ kind: 'trouble', problem: message });
    await this.closeSession(what);
    if (isLost || this.failures >= FAILURES_WITHOUT_CHECK) this.startEndCheck();
    await this.pause();
  }

  /** Whether only the history needs what is damaged. The other engine finds what is after it. */
  private isBeforeSnapshot({ file, firstBadSequence }: JournalError): boolean {
    return file !== null && firstBadSequence! <= newestSnapshot(this.options);
  }

  /** Until the history's engine has got as far, or the follower is closed. */
  private startEndCheck(): void {
    this.checking ??= this.checkEnd().finally(() => {
      this.checking = null;
    });
  }

  private async checkEnd(): Promise<void> {
    const { log } = this.options;
    const isCaughtUp = () =>
      this.isOver() || (this.session?.sequence ?? -1) >= (this.endCheck?.sequence ?? 0);
    let check: EndCheck | null = null;
    try {
      check = await EndCheck.open(this.options);
      this.endCheck = check;
      const { sequence } = check;
      if (!isCaughtUp())
        log.info({ sequence }, "the journal's end is checked while the history is behind");
      await check.run(isCaughtUp);
    } catch (error) {
      if (error instanceof JournalError) this.disagree(error);
      else log.error({ problem: String((error as Error).stack) }, "the journal's end is unchecked");
    } finally {
      await check?.close();
      this.endCheck = null;
    }
  }

  /** Longer after each failure in a row. */
  private pause(): Promise<void> {
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** this.failures++, LONGEST_WAIT_MS);
    return delay(waitMs, undefined, { signal: this.stopped.signal }).catch(() => {});
  }

  private caughtUp(): void {
    this.failures = 0;
    if (this.problem === null) return;
    this.problem = null;
    this.options.log.info({}, 'the follower works again');
    this.report({ kind: 'trouble', problem: null });
  }

  private async closeSession(reason: string): Promise<void> {
    this.unavailable = reason;
    this.forEachEarlyRead(({ done }) => done({ status: 'unavailable', reason }));
    const { session } = this;
    this.session = null;
    await session?.close(reason);
  }

  private forEachEarlyRead(handle: (read: WaitingRead) => void): void {
    const early = this.early ?? [];
    this.early = null;
    for (const read of early) handle(read);
  }

  private disagree(error: JournalError): void {
    this.disagreed = true;
    const sequence = error.firstBadSequence ?? this.options.board.get('applied') + 1;
    this.report({ kind: 'disagreement', sequence, message: error.message });
    this.close();
  }
}
