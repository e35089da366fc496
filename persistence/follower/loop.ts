/**
 * The follower's main loop: one session after another, until it is closed or the journal disagrees
 * with the exchange.
 *
 * - Damage in the open part of the history is logged, and the part's file removed; the next session
 *   rebuilds the part. If the catalogue is damaged, or the rebuilt part shows the same damage, the
 *   whole history is removed. (A part that is over is rebuilt within a session, parts-upkeep.ts.)
 * - A journal that leads to another digest, or is damaged after the newest snapshot, is reported,
 *   and ends the loop.
 * - If the history is far behind the newest snapshot, cannot be built because segments before that
 *   snapshot are missing or damaged, or has failed FAILURES_WITHOUT_CHECK times in a row, a second
 *   engine checks the end of the journal from that snapshot. It takes the snapshots until the
 *   history's engine has caught up (end-check.ts).
 * - A failure to make the history from a sound journal is a fault of the program, so the loop tries
 *   again only once an hour; a new version tries when it starts.
 * - Any other failure (a full disk, say) is reported as trouble and retried, after a quarter of a
 *   second at first and ten seconds at most.
 *
 * None of these stops trading, except a digest that differs.
 *
 * Reads that arrive before the first session is open wait for that session; between sessions reads
 * are `unavailable`. A session does not check the batches before its snapshot: the batches of the
 * journal's last segments were checked before startup (judgement.ts), or the follower itself has
 * applied them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { FAULT_REMEDY, HistoryFault } from '../history/fault.js';
import { openPath, removeDatabase, removeHistory } from '../history/parts/catalogue.js';
import { HistoryDamage } from '../history/rows.js';
import { JournalError, restoreCommand } from '../journal/errors.js';
import { MissingSegments } from '../journal/reader.js';
import { prepareSnapshotFolder } from '../recovery/snapshot/folder.js';
import { EndCheck } from './end-check.js';
import type { WaitingRead } from './read-queue.js';
import { FollowerSession, newestSnapshot, type SessionOptions } from './session.js';
import { snapshotRemedy } from './snapshots.js';

/** The pause after a failure; doubled for each further one, up to the longest. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
/** The pause after a fault of the program, which would repeat it at the same command. */
const FAULT_WAIT_MS = 3_600_000;
/**
 * After this many failures in a row (several seconds of retries), a second engine checks the end of
 * the journal.
 */
const FAILURES_WITHOUT_CHECK = 5;

export class FollowerLoop {
  private session: FollowerSession | null = null;
  /** Reads that came before the first session was open; null afterwards. */
  private early: WaitingRead[] | null = [];
  private unavailable = '';
  private readonly stopped = new AbortController();
  private disagreed = false;
  /** Whether the last attempt to prepare the snapshots' folder failed. */
  private isFolderUnprepared = false;
  /** Whether damage was found since the follower last caught up. */
  private wasDamaged = false;
  /** The newest damage. If it is found again after a rebuild, the whole history is rebuilt. */
  private lastDamage = '';
  private failures = 0;
  private endCheck: EndCheck | null = null;
  private checking: Promise<void> | null = null;

  constructor(
    private readonly options: SessionOptions,
    private readonly disagrees: (sequence: number, message: string) => void,
  ) {}

  /** Settles when the follower is closed or has found a disagreement. */
  async run(): Promise<void> {
    while (!this.isOver()) {
      try {
        // Skip this while the other engine runs: a temporary file may be one it is writing, not one
        // that a crash left.
        if (this.checking === null) await this.prepareSnapshots();
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

  /** Whether a second engine checks the journal's end in the background. */
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
    const { log, folder, troubles } = this.options;
    const isOld = error instanceof JournalError && this.isBeforeSnapshot(error);
    if (error instanceof JournalError && !isOld) {
      this.disagree(error);
      return;
    }
    if (error instanceof HistoryDamage) {
      const { table, row, message: problem } = error;
      const what = 'the history is damaged and will be rebuilt from the journal';
      log.error({ table, row, problem }, what);
      const remedy = 'It is being rebuilt from the journal. You need not do anything.';
      troubles.note({ part: 'history', problem, remedy });
      await this.closeSession('the history is being rebuilt');
      // If a rebuilt part shows the same damage, the damage is elsewhere.
      const isAgain = this.wasDamaged || problem === this.lastDamage;
      this.lastDamage = problem;
      if (error.part === null || isAgain) removeHistory(folder);
      else removeDatabase(openPath(folder, error.part));
      if (this.wasDamaged) await this.pause();
      this.wasDamaged = true;
      return;
    }
    troubles.failed('history', error, this.remedyOf(error, isOld));
    const isFault = error instanceof HistoryFault;
    const isLost = isOld || isFault || error instanceof MissingSegments;
    await this.closeSession(isLost ? 'the history cannot be made' : 'it will be tried again');
    if (isLost || this.failures >= FAILURES_WITHOUT_CHECK) this.startEndCheck();
    await (isFault ? this.wait(FAULT_WAIT_MS) : this.pause());
  }

  private remedyOf(error: unknown, isOld: boolean): string {
    const { folder } = this.options;
    if (error instanceof HistoryFault)
      return `${FAULT_REMEDY} What fails: npm run replay -- --data ${folder} verify`;
    if (isOld || error instanceof MissingSegments)
      return `To bring back what is missing (this works while the exchange trades): ${restoreCommand(folder)}`;
    return `It will be retried. If it keeps failing, check the disk and the permissions of ${folder}: npm run doctor -- --data ${folder}`;
  }

  /**
   * Prepares the snapshots' folder. If that fails, there are no snapshots; everything else works.
   */
  private async prepareSnapshots(): Promise<void> {
    const { folder, troubles } = this.options;
    try {
      await prepareSnapshotFolder(folder);
      if (this.isFolderUnprepared) troubles.works('snapshots');
      this.isFolderUnprepared = false;
    } catch (error) {
      this.isFolderUnprepared = true;
      troubles.failed('snapshots', error, snapshotRemedy(folder));
    }
  }

  /** Whether only the history needs the damaged segment. The second engine finds later damage. */
  private isBeforeSnapshot({ file, firstBadSequence }: JournalError): boolean {
    return file !== null && firstBadSequence! <= newestSnapshot(this.options);
  }

  /**
   * Checks the journal's end until the history's engine has caught up, or the follower is closed.
   */
  private startEndCheck(): void {
    this.checking ??= this.checkEnd().finally(() => {
      this.checking = null;
    });
  }

  private async checkEnd(): Promise<void> {
    const isCaughtUp = () =>
      this.isOver() || (this.session?.sequence ?? -1) >= (this.endCheck?.sequence ?? 0);
    do await this.checkEndOnce(isCaughtUp);
    while (!isCaughtUp());
  }

  private async checkEndOnce(isCaughtUp: () => boolean): Promise<void> {
    const { log } = this.options;
    let check: EndCheck | null = null;
    try {
      check = await EndCheck.open(this.options);
      this.endCheck = check;
      const { sequence } = check;
      if (!isCaughtUp())
        log.info({ sequence }, "the journal's end is checked while the history is behind");
      await check.run(isCaughtUp);
    } catch (error) {
      if (error instanceof JournalError) {
        this.disagree(error);
        return;
      }
      log.error({ problem: String((error as Error).stack) }, "the journal's end is unchecked");
      await this.wait(LONGEST_WAIT_MS);
    } finally {
      await check?.close();
      this.endCheck = null;
    }
  }

  /** Waits, longer after each consecutive failure. */
  private pause(): Promise<void> {
    return this.wait(Math.min(FIRST_WAIT_MS * 2 ** this.failures++, LONGEST_WAIT_MS));
  }

  private wait(ms: number): Promise<void> {
    return delay(ms, undefined, { signal: this.stopped.signal }).catch(() => {});
  }

  private caughtUp(): void {
    this.failures = 0;
    this.wasDamaged = false;
    if (this.session!.isWhole) this.options.troubles.works('history');
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
    this.disagrees(sequence, error.message);
    this.close();
  }
}
