/**
 * The follower's life: one session after another, until it is closed or finds that the journal is not what the exchange
 * made.
 *
 * - Damage in history.db: it is named in the log, the file is removed, and the next session makes it again (after a second,
 *   if that was the reason the last time, too).
 * - A journal that is damaged, or that leads this engine to another digest: reported, with the sequence, and the end.
 * - Anything else (a full disk, say): logged, and tried again after a second. Trading does not depend on it.
 *
 * Reads that come before the first session is open wait for it; between sessions they are `unavailable`. What lies before the snapshot that the first session began with is
 * checked once, hash by hash, when there is nothing else to do: damage is found even where nobody replays.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { FollowerLog, FromFollower } from './follower-messages.js';
import type { Answered } from './follower-reads.js';
import { FollowerSession, type SessionOptions } from './follower-session.js';
import { HistoryDamage } from './history-damage.js';
import type { HistoryRequest } from './history-requests.js';
import { removeHistory } from './history-store.js';
import { JournalError } from './journal-error.js';
import { type JournalPosition, openJournalReader } from './journal-reader.js';
import { prepareSnapshotFolder } from './snapshot-folder.js';

const RETRY_MS = 1_000;

export type Disagreement = Extract<FromFollower, { kind: 'disagreement' }>;

interface EarlyRead {
  request: HistoryRequest;
  minSequence: number;
  done: Answered;
}

export class FollowerLoop {
  private session: FollowerSession | null = null;
  /** Reads that came before the first session was open; null from then on. */
  private early: EarlyRead[] | null = [];
  private unavailable = '';
  private readonly stopped = new AbortController();
  /** The check of what lies before the first session's start; null: not begun. */
  private pastCheck: Promise<void> | null = null;
  private disagreed = false;
  /** Whether the history has been damaged before. */
  private wasDamaged = false;

  constructor(
    private readonly options: SessionOptions,
    private readonly disagreement: (what: Disagreement) => void,
  ) {}

  /** Settles when the follower is closed, or has found something that ends it. */
  async run(): Promise<void> {
    while (!this.isOver()) {
      try {
        await prepareSnapshotFolder(this.options.folder);
        this.session = await FollowerSession.open(this.options);
        const { session } = this;
        // It may have been closed while the session was opened.
        if (this.isOver()) session.stop();
        this.takeEarlyReads((read) => session.read(read.request, read.minSequence, read.done));
        await session.run(() => this.checkPast(session.startPosition));
      } catch (error) {
        await this.recoverFrom(error);
      }
    }
    await this.closeSession('the follower has stopped');
    await this.pastCheck;
  }

  wake(): void {
    this.session?.wake();
  }

  read(request: HistoryRequest, minSequence: number, done: Answered): void {
    if (this.session !== null) this.session.read(request, minSequence, done);
    else if (this.early !== null) this.early.push({ request, minSequence, done });
    else done({ outcome: 'unavailable', reason: this.unavailable });
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
    if (error instanceof JournalError) {
      this.disagree(error);
      return;
    }
    if (error instanceof HistoryDamage) {
      const { table, row } = error;
      log.error(
        { table, row, problem: error.message },
        'the history is damaged and will be made again from the journal',
      );
      await this.closeSession('the history is being made again');
      removeHistory(folder);
      if (this.wasDamaged) await this.pause();
      this.wasDamaged = true;
      return;
    }
    log.error({ problem: String((error as Error).stack) }, 'the follower failed and will start again');
    await this.closeSession('the follower has failed and starts again');
    await this.pause();
  }

  private pause(): Promise<void> {
    return delay(RETRY_MS, undefined, { signal: this.stopped.signal }).catch(() => {});
  }

  private async closeSession(reason: string): Promise<void> {
    this.unavailable = reason;
    this.takeEarlyReads(({ done }) => done({ outcome: 'unavailable', reason }));
    const { session } = this;
    this.session = null;
    await session?.close(reason);
  }

  private takeEarlyReads(take: (read: EarlyRead) => void): void {
    const early = this.early ?? [];
    this.early = null;
    for (const read of early) take(read);
  }

  private disagree(error: JournalError): void {
    if (this.disagreed) return;
    this.disagreed = true;
    const sequence = error.firstBadSequence ?? this.options.board.get('applied') + 1;
    this.disagreement({ kind: 'disagreement', sequence, message: error.message });
    this.close();
  }

  private checkPast(until: JournalPosition): void {
    this.pastCheck ??= checkChain(this.options, until, this.stopped.signal).catch((error: unknown) => {
      if (error instanceof JournalError) this.disagree(error);
      else
        this.options.log.error(
          { problem: String(error) },
          'the older part of the journal could not be checked',
        );
    });
  }
}

/** Reads the journal from its first batch to a position. */
async function checkChain(
  { folder, log }: { folder: string; log: FollowerLog },
  until: JournalPosition,
  signal: AbortSignal,
): Promise<void> {
  if (until.sequence === 0) return;
  const reader = await openJournalReader(folder);
  try {
    for await (const { lastSequence, hash } of reader.batches()) {
      if (signal.aborted) return;
      if (lastSequence < until.sequence) continue;
      if (lastSequence > until.sequence || !hash.equals(until.hash)) {
        throw new JournalError(
          `the journal's chain does not lead to its batch at ${until.sequence}`,
          until.sequence,
        );
      }
      log.info({ sequence: until.sequence }, 'the journal before the snapshot is whole');
      return;
    }
  } finally {
    await reader.close();
  }
}
