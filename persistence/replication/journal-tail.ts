/**
 * Follows a journal on PostgreSQL with an engine in this thread: this keeps a standby warm and lets
 * a replica serve reads. The engine starts from the newest usable snapshot of the node's own folder
 * and is at the end of what is there when {@link JournalTail.open} returns.
 *
 * The tail reads from a standby of the cluster, if there is one: a standby shows only what is on
 * two machines. It survives a lost connection, another leader, another primary, and a node that
 * falls behind: it finds the node with the most and continues from its own position.
 *
 * Invariant: the engine has the batches of one chain of hashes, and after each the digest that
 * the leader had. Only a journal that cannot be read now is tried again. If the journal leads
 * elsewhere, if the cluster lost what this engine has, or if a watcher throws, which is a bug, the
 * tail ends and `onFatal` is called: the process must end. Its next startup begins with a snapshot.
 *
 * A batch may have tens of thousands of commands. A request between two turns of the tail may see a
 * state in the middle of a batch: it is durable and chained, but its digest is only compared at the
 * end of the batch.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../../engine/engine.js';
import { JournalError, JournalUnavailable } from '../journal/errors.js';
import type { JournalPosition } from '../journal/format.js';
import type { JournalBatch, JournalSource } from '../journal/store.js';
import {
  type Applied,
  JournalFollower,
  type RecoveryLog,
  recoverFromSnapshot,
} from '../recovery/recovery.js';
import type { PostgresAddress } from './postgres/address.js';
import { type JournalHead, PostgresSource } from './postgres/postgres-source.js';
import { PasswordRefused } from './postgres/server.js';

const POLL_EVERY_MS = 5;
/** The pause between a failed read and the search for another node. */
const RETRY_AFTER_MS = 50;
/** The same pause after a refused password. */
const REFUSED_AFTER_MS = 1_000;
const TOLD_MAX = 4;
/** A node whose last news is older than this is compared with the others. */
const STALE_MS = 2_000;

export interface TailOptions {
  /** This node's data folder, with its snapshots; it may be empty. */
  folder: string;
  address: PostgresAddress;
  log: RecoveryLog;
  /** Milliseconds on any clock that does not go back. */
  elapsedMs: () => number;
  /** The pause between two polls of the journal. Default: 5 ms. */
  pollEveryMs?: number;
}

export interface TailWatcher {
  /** Called after each command; the engine has its result and events until the next one. */
  applied?: Applied;
  /**
   * Called after the last command of each batch. The batch's bytes are valid until the call
   * returns.
   */
  batchApplied?: (batch: JournalBatch) => void;
  /**
   * Called after each poll of the journal, even without new batches, with the leader's id and
   * address.
   */
  seen?: (head: JournalHead) => void;
  /** Called once: the engine must not be used afterwards, and the process must end. */
  onFatal: (error: Error) => void;
}

export class JournalTail {
  readonly engine: Engine;
  private source: PostgresSource | null;
  /** Whether the source is known to have the batch at the engine's end. */
  private isProven = true;
  private readonly follower: JournalFollower;
  private watcher: TailWatcher | null = null;
  head: JournalHead;
  private headAtMs: number;
  /** The reason why reads fail and are retried; null if they succeed. */
  trouble: string | null = null;
  /** The problems that were logged since the last successful read. */
  private readonly told = new Set<string>();
  private stopping = false;
  private readonly stopped = new AbortController();
  private running: Promise<void> = Promise.resolve();

  private constructor(
    private readonly options: TailOptions,
    start: { source: PostgresSource; engine: Engine; end: JournalPosition; head: JournalHead },
  ) {
    this.engine = start.engine;
    this.source = start.source;
    this.follower = new JournalFollower(start.engine, start.end, {
      applied: (records, at) => this.watcher?.applied?.(records, at),
      proven: (batch) => {
        if (this.watcher === null) return true;
        this.watcher.batchApplied?.(batch);
        return !this.stopping;
      },
    });
    this.head = start.head;
    this.headAtMs = options.elapsedMs();
  }

  /**
   * Opens a tail that does not follow yet. @throws JournalUnavailable if no node answers;
   * JournalError
   */
  static async open(options: TailOptions): Promise<JournalTail> {
    const { folder, address, log, elapsedMs } = options;
    const source = await PostgresSource.open(address, 'standby');
    try {
      const recovered = await recoverFromSnapshot({ folder, reader: source, log, elapsedMs });
      const { engine, end } = recovered;
      return new JournalTail(options, { source, engine, end, head: await source.head() });
    } catch (error) {
      await source.close();
      throw error;
    }
  }

  /** Follows from here on, until {@link close}. Called once. */
  start(watcher: TailWatcher): void {
    this.watcher = watcher;
    this.running = this.run(watcher);
  }

  get sequence(): number {
    return this.engine.sequence;
  }

  get end(): JournalPosition {
    return this.follower.position;
  }

  /**
   * The age of the engine's state: it includes everything that was acknowledged at least this long
   * ago. The age grows while no leader writes or renews its lease, and while no node answers. The
   * nodes' clocks are compared, so they must be synchronized.
   */
  get ageMs(): number {
    return this.head.ageMs + this.options.elapsedMs() - this.headAtMs;
  }

  async close(): Promise<void> {
    this.stopping = true;
    this.stopped.abort();
    await this.running;
    await this.release();
  }

  /** Closes, and applies the rest from `reader`. @throws JournalError if it does not continue. */
  async finish(reader: JournalSource): Promise<JournalPosition> {
    await this.close();
    await this.checkPosition(reader);
    this.watcher = null;
    await this.follower.follow(reader);
    return this.end;
  }

  private async run(watcher: TailWatcher): Promise<void> {
    while (!this.stopping) {
      let waitMs = this.options.pollEveryMs ?? POLL_EVERY_MS;
      try {
        await this.look(watcher);
        this.worksAgain();
      } catch (error) {
        if (!(error instanceof JournalUnavailable)) {
          this.stopping = true;
          watcher.onFatal(error as Error);
          return;
        }
        this.failed(error);
        await this.release();
        waitMs = error instanceof PasswordRefused ? REFUSED_AFTER_MS : RETRY_AFTER_MS;
      }
      if (!this.stopping) await this.pause(waitMs);
    }
  }

  private async look(watcher: TailWatcher): Promise<void> {
    const { elapsedMs } = this.options;
    const source = this.source ?? this.use(await this.openAgain());
    const askedMs = elapsedMs();
    const head = await source.head();
    if (head.lastSequence < this.end.sequence) {
      const { lastSequence } = head;
      const { sequence } = this.end;
      throw new JournalUnavailable(
        `this PostgreSQL node ends at sequence ${lastSequence}, before ${sequence}. This is retried`,
      );
    }
    if (!this.isProven) {
      await this.checkPosition(source);
      this.isProven = true;
    }
    if (head.lastSequence > this.end.sequence) {
      await this.follow(source);
      if (!this.stopping) await this.mustBeAt(head.lastSequence, source);
    }
    if (this.stopping) return;
    this.head = head;
    this.headAtMs = askedMs;
    watcher.seen?.(head);
    if (head.ageMs > STALE_MS) await this.lookElsewhere(head);
  }

  /** @throws JournalError if the journal was cut before the position. */
  private async follow(source: JournalSource): Promise<void> {
    try {
      await this.follower.follow(source);
    } catch (error) {
      if (error instanceof JournalError) await this.checkPosition(source);
      throw error;
    }
  }

  /** A longer journal without a batch after the engine's end was cut and written again. */
  private async mustBeAt(lastSequence: number, source: JournalSource): Promise<void> {
    const { sequence } = this.end;
    if (sequence >= lastSequence) return;
    await this.checkPosition(source);
    throw new JournalError(
      `the cluster says that its journal ends at ${lastSequence}, but has no batch after ${sequence}`,
      sequence,
    );
  }

  /** This node may have lost its primary, and a different node may have more. */
  private async lookElsewhere({ lastSequence, ageMs }: JournalHead): Promise<void> {
    const other = await this.openAgain();
    const head = await other.head().catch(() => null);
    if (head === null || head.lastSequence < lastSequence || head.ageMs >= ageMs) {
      await other.close();
      // No leader renews its lease, so no node has more, and there is no hurry.
      await this.pause(RETRY_AFTER_MS);
      return;
    }
    await this.release();
    this.use(other);
  }

  private use(source: PostgresSource): PostgresSource {
    this.source = source;
    this.isProven = false;
    return source;
  }

  private openAgain(): Promise<PostgresSource> {
    return PostgresSource.open(this.options.address, 'standby');
  }

  private async checkPosition(reader: JournalSource): Promise<void> {
    const { sequence, hash } = this.end;
    const there = await reader.positionAt(sequence);
    if (there?.hash.equals(hash)) return;
    throw new JournalError(
      `the cluster has a different batch at sequence ${sequence} than this process has applied, or ` +
        'none: a node was promoted that had not received everything, or the tables were restored. ' +
        'Restart this process: it begins with a snapshot that the journal vouches for.',
      sequence,
    );
  }

  /** Often only the next attempt shows why a connection was lost. */
  private failed({ message }: JournalUnavailable): void {
    if (!this.told.has(message) && this.told.size < TOLD_MAX) {
      this.told.add(message);
      this.options.log.warn({ problem: message }, 'the journal cannot be followed now; retrying');
    }
    this.trouble = message;
  }

  private worksAgain(): void {
    if (this.trouble === null) return;
    this.trouble = null;
    this.told.clear();
    this.options.log.info({ sequence: this.sequence }, 'the journal is followed again');
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.stopped.signal }).catch(() => {});
  }

  private async release(): Promise<void> {
    const { source } = this;
    this.source = null;
    await source?.close();
  }
}
