/**
 * A session of the follower: an engine fed by the journal alone, and the history, the leaderboards
 * and the snapshots made from it. It begins with the history and the newest snapshot that is not
 * after it, and follows the journal until it is stopped or fails.
 *
 * Invariants:
 * - after each batch the engine has the digest that the exchange had (recovery.ts), and the chain
 *   is unbroken;
 * - the history answers as soon as it is at the journal's end; its older parts are sealed, checked
 *   and rebuilt in the background (parts-upkeep.ts);
 * - history is written in whole batches, one transaction at a time. Waiting entries are bounded:
 *   beyond the limit the next batch is read only after the transaction. Parts are bounded, too: one
 *   that is overlong grows only after the part before it is sealed, or could not be;
 * - while another engine checks the journal's end (end-check.ts), this one takes no snapshots;
 * - a transaction does not begin within half a second of the one before, unless a read of the
 *   database or a snapshot needs it, or many entries wait.
 *
 * A read of the journal and a transaction cost about as much as hundreds of commands, even when
 * they cover few. So the follower waits a moment for commits to collect and then follows them
 * together, unless a read waits for them. A user's entries of one transaction share a row, so few
 * large transactions cost less than many small ones. On a machine with few cores this leaves more
 * time to the trading thread.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../../engine/engine.js';
import type { IncrementalTask } from '../../engine/storage/incremental-task.js';
import { DayFiles } from '../history/day-files.js';
import { Leaderboards } from '../history/leaderboard/leaderboard.js';
import { ListCounts } from '../history/lists.js';
import {
  addPastMarket,
  type CommittedLists,
  type OpenedHistory,
  openHistory,
} from '../history/opening.js';
import { HistoryFiles } from '../history/parts/files.js';
import type { BatchEnd } from '../history/parts/progress.js';
import type { MakePart } from '../history/parts/sealing.js';
import { type HistoryChanges, Projection } from '../history/projection.js';
import { HistoryReads } from '../history/reads.js';
import { HistoryDamage } from '../history/rows.js';
import { runYielding } from '../history/run-yielding.js';
import { HistoryStore } from '../history/store.js';
import { JournalUnavailable, removedEnd } from '../journal/errors.js';
import type { JournalBatch, JournalSource } from '../journal/store.js';
import { JournalFollower } from '../recovery/recovery.js';
import { listSnapshots } from '../recovery/snapshot/folder.js';
import {
  loadNewestSnapshot,
  type ReadSnapshot,
  type StartingPoint,
} from '../recovery/snapshot/load.js';
import { type JournalPlace, openSource } from '../replication/source.js';
import { JournalBatches } from './journal-batches.js';
import { PartsUpkeep } from './parts-upkeep.js';
import type { ProgressBoard } from './progress-board.js';
import { FollowerReads, type WaitingRead } from './read-queue.js';
import { FollowerSnapshots, type SnapshotsOptions } from './snapshots.js';

/** How long commits collect while no read waits for them. */
export const GATHER_MS = 100;
/** The pause between commits while reads wait: it limits the transactions that reads cause. */
const GATHER_FOR_READS_MS = 10;
/** The time from the start of a transaction to the next that nothing demands. */
const TRANSACTION_EVERY_MS = 500;
/** A transaction begins immediately when this many entries or commands wait for it. */
const TRANSACTION_ENTRIES = 1_000_000;
const TRANSACTION_COMMANDS = 500_000;
/** The most entries that wait for a transaction; beyond that, reading of the journal pauses. */
const PENDING_ENTRIES_MAX = 2_000_000;
/** After this lag, a node counts as unavailable and the next node is tried. */
const LAG_MS_MAX = 2_000;
const USERS_IN_PIECE = 4_096;

/** Options of a session. The folder is the data folder, for derived data. */
export interface SessionOptions extends SnapshotsOptions {
  journal: JournalPlace;
  readSnapshot: ReadSnapshot;
  makePart: MakePart;
  /** How many days of each asset have a file. */
  dayFiles: number;
  /** The days after which orders and books are pruned from the history; 0 means never. */
  historyDays: number;
  /** The commands in a part of the history. Default: PART_COMMANDS. */
  partCommands?: number;
}

/** A second engine's check of the journal's end (end-check.ts). */
interface CheckedEnd {
  /** The sequence up to which it has checked. */
  readonly sequence: number;
}

interface Opened {
  reader: JournalSource;
  store: HistoryStore;
  checked: OpenedHistory;
  start: StartingPoint;
  files: HistoryFiles;
}

/**
 * The sequence of the newest snapshot. A snapshot beyond the journal's end belongs to another
 * journal and does not count.
 */
export function newestSnapshot({ folder, board }: SessionOptions): number {
  const end = board.get('durable');
  return listSnapshots(folder).find(({ sequence }) => sequence <= end)?.sequence ?? 0;
}

export class FollowerSession {
  private readonly board: ProgressBoard;
  private readonly engine: Engine;
  private readonly follower: JournalFollower;
  private readonly snapshots: FollowerSnapshots;
  private readonly boards: Leaderboards;
  private readonly reads: FollowerReads;
  private readonly batches: JournalBatches;
  private readonly dayFiles: DayFiles;
  /** Whether a market has opened since the day files were written. */
  private hasOpened = true;
  private readonly lists: CommittedLists;
  /** The number of prices in the last transaction; further ones may be waiting. */
  private prices = new ListCounts();
  private readonly upkeep: PartsUpkeep;
  /** The projection; null until the engine has reached the end of the history. */
  private projection: Projection | null = null;
  /**
   * Set while the next transaction's changes are drained from the projection; no command is applied
   * in the meantime.
   */
  private draining: Promise<HistoryChanges> | null = null;
  private committing: Promise<void> | null = null;
  /** Runs out when the next transaction may begin that nothing demands; null: it may begin now. */
  private pause: NodeJS.Timeout | null = null;
  private failure: unknown = null;
  private stopping = false;
  /** How long the node has been behind the commits. */
  private waitedMs = 0;
  /** Ends the wait for a commit, or for more commits to collect. */
  private wakeUp: (() => void) | null = null;

  private constructor(
    private readonly options: SessionOptions,
    private readonly opened: Opened,
    /**
     * The other engine that checks the journal's end and takes the snapshots; null if this session
     * does.
     */
    private readonly endCheck: () => CheckedEnd | null,
  ) {
    const { start, checked, store, files } = opened;
    this.board = options.board;
    this.engine = start.engine;
    // The trading thread's engine, not this engine, answers for recent commands.
    this.engine.keepRecentResults(0);
    this.lists = checked.lists;
    this.follower = new JournalFollower(this.engine, start.position, {
      mayApply: () => this.mayApply(),
      applying: (atMs) => this.projection?.applying(atMs),
      applied: (records, at) => {
        this.projection?.applied();
        this.snapshots.applied(records, at);
      },
      proven: (batch) => this.proven(batch),
    });
    const vouchedSequence = this.board.get('snapshotSequence');
    this.snapshots = new FollowerSnapshots(options, this.engine);
    if (endCheck() !== null) this.board.set('snapshotSequence', vouchedSequence);
    this.boards = new Leaderboards(this.engine);
    this.batches = new JournalBatches(options.journal);
    const { folder, log, dayFiles: days } = options;
    const assets = this.engine;
    this.dayFiles = new DayFiles({ folder, assets, files, days, log });
    this.upkeep = new PartsUpkeep(options, store, files, (error) => this.fail(error));
    const openMarket = (marketId: number) => this.projection!.openMarket(marketId);
    const state = { lists: this.lists, openMarket };
    this.reads = new FollowerReads({
      engine: this.engine,
      boards: this.boards,
      readsIn: (turn) => new HistoryReads(files, state, turn),
      failed: (error) => this.readFailed(error),
      readEnded: () => this.readEnded(),
      boardReady: () => options.troubles.works('leaderboards'),
      boardsFailed: (error) => this.boardsFailed(error),
    });
  }

  /** @throws HistoryDamage, JournalError, or an error of the file system or of SQLite. */
  static async open(
    options: SessionOptions,
    endCheck: () => CheckedEnd | null,
  ): Promise<FollowerSession> {
    const { folder, log, board } = options;
    const closers: { close(): Promise<void> }[] = [];
    try {
      const reader = await openSource(options.journal);
      closers.push(reader);
      const store = await HistoryStore.open(folder, options.partCommands);
      closers.push(store);
      const checked = await openHistory(store);
      const { sequence, hash } = store.progress;
      log.info({ historySequence: sequence }, 'the history was opened');
      if (reader.mayLag && (await reader.end()).sequence < sequence)
        throw new JournalUnavailable(
          `this PostgreSQL node has not received sequence ${sequence} yet. This is retried`,
        );
      const there = await reader.positionAt(sequence);
      if (there === null || !there.hash.equals(hash)) {
        throw new HistoryDamage(
          'progress',
          'id 1',
          `the journal has no such batch at ${sequence}: the history belongs to another journal`,
        ).in(store.open.part);
      }
      const read = options.readSnapshot;
      const start = await loadNewestSnapshot({ folder, reader, log, notAfter: sequence, read });
      const files = await HistoryFiles.open(folder, store.parts);
      closers.push(files);
      board.set('projected', sequence);
      board.partSequence = store.partSequence;
      const snapshotSequence = start.position.sequence;
      log.info({ historySequence: sequence, snapshotSequence }, 'the follower starts');
      const opened = { reader, store, checked, start, files };
      return new FollowerSession(options, opened, endCheck);
    } catch (error) {
      for (const each of closers.reverse()) await each.close();
      throw error;
    }
  }

  get sequence(): number {
    return this.follower.position.sequence;
  }

  /**
   * Whether the newest snapshot is so far ahead that the journal's end would stay unchecked for
   * long.
   */
  get isFarBehind(): boolean {
    return newestSnapshot(this.options) - this.sequence > this.options.snapshots.everyCommands;
  }

  /** Follows the journal until `stop`. Calls `caughtUp` whenever there is nothing left to do. */
  async run(caughtUp: () => void): Promise<void> {
    if (!this.isEnding()) await this.followToEnd();
    if (!this.isEnding()) this.upkeep.wake();
    while (!this.isEnding()) {
      if (this.board.get('durable') > this.sequence) await this.followCommitted();
      else if (this.reads.areDue && this.isHistoryBehind()) await this.committed();
      else await this.sleep(caughtUp);
    }
    await this.committed();
    if (this.failure !== null) throw this.failure;
  }

  read(read: WaitingRead): void {
    const { request } = read;
    if (request.kind === 'journalBatch') {
      this.batches.read(request.sequence, read);
      return;
    }
    this.reads.read({ ...read, request });
    this.serve();
    if (this.reads.areWaiting) this.wake();
  }

  wake(): void {
    this.wakeUp?.();
  }

  stop(): void {
    this.stopping = true;
    void this.upkeep.close();
    this.wake();
  }

  /** @param reason the answer to pending reads */
  async close(reason: string): Promise<void> {
    this.failure ??= new Error(reason);
    this.reads.end(reason);
    await this.upkeep.close();
    await this.batches.close(reason);
    await this.dayFiles.close();
    await this.committing;
    if (this.pause !== null) clearTimeout(this.pause);
    await this.snapshots.close();
    const { reader, store, files } = this.opened;
    await files.close();
    await store.close();
    await reader.close();
  }

  private isEnding(): boolean {
    return this.stopping || this.failure !== null;
  }

  private async followToEnd(): Promise<void> {
    await this.projectFromHere();
    await this.follower.follow(this.opened.reader);
    if (this.isEnding()) return;
    this.startCommitInTurn();
    await this.serveDueReads();
  }

  private async mayApply(): Promise<boolean> {
    while (this.draining !== null) await this.draining;
    return !this.isEnding();
  }

  private async proven({ lastSequence }: JournalBatch): Promise<boolean> {
    this.board.set('applied', Math.max(lastSequence, this.endCheck()?.sequence ?? 0));
    this.serve();
    await this.projectFromHere();
    const pendingEntries = this.projection?.pendingEntries ?? 0;
    const pendingCommands = lastSequence - this.opened.store.progress.sequence;
    if (pendingEntries >= TRANSACTION_ENTRIES || pendingCommands >= TRANSACTION_COMMANDS)
      this.startCommit();
    if (pendingEntries > PENDING_ENTRIES_MAX) await this.committing;
    if (this.opened.store.isOverlong) await this.upkeep.sealing;
    // Asked after every batch, even when no snapshot can be taken.
    const isDue = this.snapshots.isDue(this.engine);
    if (isDue && this.projection !== null && this.endCheck() === null) await this.takeSnapshot();
    await this.serveDueReads();
    return true;
  }

  /** Brings the history to the engine's sequence if reads of the database wait for that. */
  private async serveDueReads(): Promise<void> {
    if (this.reads.areDue) await this.committed();
  }

  /** Creates the projection once the engine is at the end of the history. */
  private async projectFromHere(): Promise<void> {
    const { store, checked } = this.opened;
    if (this.projection !== null || this.sequence < store.progress.sequence) return;
    await runYielding(this.checkTradeCounts());
    this.projection = new Projection(this.engine, checked.state, (userId) => {
      try {
        this.boards.changed(userId);
      } catch (error) {
        this.boardsFailed(error);
      }
    });
    this.serve();
    this.options.log.info({ sequence: this.sequence }, 'the history answers');
  }

  /**
   * Starts the rebuild of a damaged finished part in the background; other damage ends the session.
   */
  private readFailed(error: unknown): void {
    const { parts } = this.opened.store;
    if (error instanceof HistoryDamage && error.part !== null && error.part !== parts.open)
      this.upkeep.damaged(error.part, error);
    else this.fail(error);
  }

  /** Whether no part of the history is missing. */
  get isWhole(): boolean {
    return this.upkeep.isWhole;
  }

  private *checkTradeCounts(): IncrementalTask<void> {
    const { engine } = this;
    const { userTrade } = this.opened.checked.state.lengths;
    for (let userId = 1; userId <= engine.userCount; userId++) {
      if (userId % USERS_IN_PIECE === 0) yield;
      const count = engine.tradeCount(userId);
      const found = userTrade.of(userId);
      if (found === count) continue;
      const problem = `the list has ${found} entries, not ${count}`;
      const { part } = this.opened.store.open;
      throw new HistoryDamage('userTrade', `userId ${userId}`, problem).in(part);
    }
  }

  private isHistoryBehind(): boolean {
    return this.sequence > this.opened.store.progress.sequence;
  }

  /** Begins a transaction now, or when enough time has passed since the last one. */
  private startCommitInTurn(): void {
    if (this.pause === null) this.startCommit();
  }

  /** Begins a transaction with all pending changes, unless one is in progress. */
  private startCommit(): void {
    const { projection, follower } = this;
    if (this.committing !== null || projection === null || this.failure !== null) return;
    // Nothing of a batch is written until its end is proven.
    if (follower.isWithinBatch || !this.isHistoryBehind()) return;
    this.startPause();
    this.draining = runYielding(projection.drainInPieces()).finally(() => {
      this.draining = null;
    });
    const end = { ...follower.position, atMs: this.engine.nowMs };
    this.prices = ListCounts.from(this.lists.lengths.assetPrice.toArray());
    this.committing = this.commit(this.draining, end).catch((error: unknown) => {
      this.committing = null;
      this.fail(error);
    });
  }

  private async commit(draining: Promise<HistoryChanges>, end: BatchEnd): Promise<void> {
    const changes = await draining;
    await this.opened.store.commit(changes, end);
    this.afterCommit(changes);
  }

  private startPause(): void {
    if (this.pause !== null) clearTimeout(this.pause);
    this.pause = setTimeout(() => {
      this.pause = null;
      this.startCommit();
    }, TRANSACTION_EVERY_MS);
  }

  private afterCommit({ addedIds, endedIds }: HistoryChanges): void {
    this.committing = null;
    const { lists } = this;
    for (const marketId of addedIds) lists.knownMarketIds.add(marketId);
    for (const marketId of endedIds) addPastMarket(lists.pastMarketIds, marketId);
    const { store } = this.opened;
    this.board.set('projected', store.progress.sequence);
    this.board.partSequence = store.partSequence;
    this.serve();
    this.startCommitInTurn();
    this.upkeep.wake();
    this.hasOpened ||= addedIds.length > 0;
    // While the history is made from the beginning, its last day is not the last one.
    const behind = this.board.get('durable') - store.progress.sequence;
    if (!this.hasOpened || behind > TRANSACTION_COMMANDS) return;
    this.hasOpened = false;
    const lengths = { ...lists.lengths, assetPrice: this.prices };
    this.dayFiles.update({ ...lists, lengths }, (error) => {
      if (error instanceof HistoryDamage) this.readFailed(error);
      else this.dayFilesFailed(error);
    });
  }

  private boardsFailed(error: unknown): void {
    this.boards.clear();
    const remedy =
      'They will be rebuilt at the next request. If this keeps failing, report the problem.';
    this.options.troubles.failed('leaderboards', error, remedy);
    this.reads.refuseBoards((error as Error).message);
  }

  private dayFilesFailed(error: unknown): void {
    const { troubles, folder } = this.options;
    if (error === null) troubles.works('dayFiles');
    else
      troubles.failed(
        'dayFiles',
        error,
        `It will be retried when a market opens. If it keeps failing, check the disk and the permissions of ${folder}/days.`,
      );
  }

  /** Settles when everything applied is in the history, or after a failure. */
  private async committed(): Promise<void> {
    for (this.startCommit(); this.committing !== null; this.startCommit()) await this.committing;
  }

  private async takeSnapshot(): Promise<void> {
    await this.committed();
    if (this.isEnding()) return;
    await this.opened.store.sync();
    await this.snapshots.take(this.engine, this.follower.position);
  }

  private serve(): void {
    if (this.projection !== null && !this.follower.isWithinBatch)
      this.reads.serve(this.board.get('projected'));
  }

  /** The reader's next read may need commands that are not in the history yet. */
  private readEnded(): void {
    this.serve();
    if (this.reads.areWaiting) this.wake();
  }

  /** Settles when there is a commit to follow, or at `wake`. */
  private async sleep(caughtUp: () => void): Promise<void> {
    const { board } = this;
    board.setIdle();
    // A commit before the flag was set has sent no message.
    if (board.get('durable') > this.sequence) return;
    caughtUp();
    await this.woken(null);
  }

  /** Follows the exchange's commits, after a pause in which more of them collect. */
  private async followCommitted(): Promise<void> {
    if (!this.reads.areWaiting) await this.woken(GATHER_MS);
    else if (this.pause !== null) await delay(GATHER_FOR_READS_MS);
    const before = this.sequence;
    await this.followToEnd();
    if (this.isEnding()) return;
    if (this.sequence > before) {
      this.waitedMs = 0;
      return;
    }
    const durable = this.board.get('durable');
    if (this.opened.reader.mayLag) {
      await this.awaitNode(durable);
      return;
    }
    throw removedEnd(before, durable);
  }

  /** Waits until the node from which this follower reads has received what was committed. */
  private async awaitNode(durable: number): Promise<void> {
    if (this.waitedMs >= LAG_MS_MAX) {
      throw new JournalUnavailable(
        `this PostgreSQL node ends at sequence ${this.sequence}, but commands up to sequence ${durable} had been committed. This is retried`,
      );
    }
    this.waitedMs += GATHER_FOR_READS_MS;
    await delay(GATHER_FOR_READS_MS);
  }

  /** Settles at `wake`, or after `atMostMs`; null if there is no limit. */
  private async woken(atMostMs: number | null): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wakeUp = resolve;
      if (atMostMs !== null) timer = setTimeout(resolve, atMostMs);
    });
    clearTimeout(timer);
    this.wakeUp = null;
  }

  private fail(error: unknown): void {
    this.failure ??= error;
    this.wake();
  }
}
