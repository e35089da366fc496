/**
 * The journal that a leader writes to PostgreSQL: one statement per batch, one at a time.
 *
 * Invariant: a batch is reported as committed only when the statement that inserted it has
 * returned one row, which PostgreSQL does when a quorum of standbys has it on disk. Each statement
 * returns the settings under which it was committed, and a batch that took long is reported only
 * after a later statement has returned them again: a change of the settings lets waiting statements
 * continue. Answers are released only within the lease, as counted from when its last renewal was
 * sent, on a clock that also counts the time in which the process was paused: afterwards another
 * exchange may lead. After the first failure nothing more is written. The fate of a batch whose
 * connection was lost is unknown: it is never reported, and the next leader reads what is there
 * before it answers anything.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { JournalError, noJournal } from '../../journal/errors.js';
import { type BatchContent, hashOf, type JournalPosition } from '../../journal/format.js';
import { type CommitDone, type CommitLog, mustBeNext } from '../../journal/store.js';
import { describeAddress, type PostgresAddress } from './address.js';
import { type Copies, CopiesWatch, copiesIn } from './copies.js';
import { PostgresSource } from './postgres-source.js';
import {
  APPEND_SQL,
  LEADER_SQL,
  RENEW_SQL,
  RESIGN_SQL,
  SCHEMA_SQL,
  TAKE_OVER_SQL,
  WAITING_SQL,
} from './schema.js';
import {
  connect,
  type DurabilitySettings,
  durabilityProblem,
  hasTables,
  proveDurability,
} from './server.js';

/** After this silence of a leader, another may take over without being told to. */
export const LEASE_MS = 5_000;
/**
 * How often a leader renews its lease. Renewals also show readers the age of their state, and tell
 * the leader to hand over.
 */
const RENEW_EVERY_MS = 250;
/** When a statement has no answer for this long, the other nodes are asked who leads. */
const UNANSWERED_MS = 2_000;
/**
 * How often a candidate asks for the lease. A refused request changes nothing and costs one read of
 * a row.
 */
const ASK_EVERY_MS = 20;
const LOOK_EVERY_MS = 1_000;
/** How often a waiting process proves that it can still connect. */
const CONNECT_EVERY_MS = 10_000;
/** A warning of PostgreSQL: the wait for the standbys was cut short. One machine has the commit. */
const NOT_REPLICATED = '01000';

export interface PostgresJournalOptions {
  address: PostgresAddress;
  /** Whether to accept a cluster of one node, for development. */
  isUnreplicated: boolean;
  mustExist?: boolean;
  /** Whether to take over before the present leader's lease has ended. */
  isForced?: boolean;
  /** Called while another leader's lease runs, and again when its data changes. */
  onWaiting?: (leader: Leader) => void;
  /** Announces in the journal, while it waits, that it is ready to take over. */
  standby?: Standby;
  /** Decides whether this process may take over. Default: it may. */
  candidate?: Candidate;
  /** Ends the waiting: then `takeOver` rejects. */
  signal?: AbortSignal;
  /** A clock that counts pauses of the process. Default: the lease is not watched. */
  elapsedMs?: () => number;
  /** Called while this process leads, when the set of copies has changed. */
  onCopies?: (copies: Copies, before: Copies | null) => void;
  /** Called with the problem when a password is refused, and with null when it no longer is. */
  onRefused?: (problem: string | null) => void;
}

export interface Leader {
  epoch: number;
  serving: string;
  /** A fingerprint of the secret that signs sessions; empty until the process serves. */
  secret: string;
}

/** Judges whether this process may take over, before each statement that could do it. */
export interface Candidate {
  /** Called before the first statement, and about once a second. */
  looked(at: { databaseMs: number; renewedMs: number; copies: Copies | null }): Promise<void>;
  mayLead(): boolean;
}

export interface Standby {
  id: string;
  /** The address at which it will take commands, for operators to read. */
  address: string;
  sequence: () => number;
}

export class PostgresJournal implements CommitLog {
  private failure: JournalError | null = null;
  private writing = false;
  private closing = false;
  private lost: ((error: JournalError) => void) | null = null;
  private asked: ((standbyId: string) => void) | null = null;
  private renewal: NodeJS.Timeout | undefined;
  private renewing: Promise<void> | null = null;
  standbys = 0;
  /** The contents of each renewal. */
  private said = { address: '', serving: '', secret: '' };
  private isWatching = false;
  private readonly copiesWatch: CopiesWatch;
  private again: (() => void) | null = null;

  private constructor(
    private readonly options: PostgresJournalOptions,
    private readonly client: pg.Client,
    readonly epoch: number,
    public end: JournalPosition,
    /**
     * The end of the lease, on the clock of the options. Until then no other exchange can lead,
     * unless it is forced to.
     */
    private leaseEndsMs: number,
  ) {
    client.on('error', (error) => this.fail(connectionLost(error)));
    client.on('end', () => this.fail(connectionLost(new Error('the connection has ended'))));
    client.on('notice', ({ code, message }) => {
      if (code === NOT_REPLICATED) this.fail(notReplicated(message!));
    });
    const { address, onCopies = () => {}, onRefused = () => {} } = options;
    this.copiesWatch = new CopiesWatch(address, onCopies, onRefused);
    this.renewLater();
  }

  static async exists(address: PostgresAddress): Promise<boolean> {
    const client = await connect(address, 'primary');
    return hasTables(client).finally(() => client.end().catch(() => {}));
  }

  /**
   * Becomes the leader: proves the settings, creates the tables if there are none, waits for the
   * lease of the leader before, and raises the epoch. Returns when that is replicated, so
   * everything before it is, too.
   * @throws JournalError, JournalUnavailable
   */
  static async takeOver(options: PostgresJournalOptions): Promise<PostgresJournal> {
    const { address, isUnreplicated } = options;
    const client = await connect(address, 'primary');
    try {
      await proveDurability(client, isUnreplicated);
      if (!(await hasTables(client))) {
        if (options.mustExist === true) throw noJournal(describeAddress(address));
        await client.query(SCHEMA_SQL);
      }
      // With a stable id, a standby that retries recognises a takeover whose answer was lost.
      const leader = options.standby?.id ?? randomUUID();
      let warning: string | null = null;
      client.on('notice', ({ code, message }) => {
        if (code === NOT_REPLICATED) warning = message!;
      });
      const mayConnect = async () => {
        await (await connect(address, 'primary')).end();
      };
      const writer = await leadership(client, leader, mayConnect, options);
      if (warning !== null) throw notReplicated(warning);
      const end = await new PostgresSource(client, describeAddress(address), false).end();
      const { epoch, lastSequence, hash, leaseEndsMs } = writer;
      if (end.sequence !== lastSequence || !end.hash.equals(hash)) {
        throw new JournalError(
          `the journal's last row ends at ${end.sequence}, but the writer's row says ${lastSequence}: ` +
            'one of the two tables was changed by hand or restored alone. Restore both together.',
          end.sequence + 1,
        );
      }
      return new PostgresJournal(options, client, epoch, end, leaseEndsMs);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
  }

  isSole(): boolean {
    const { elapsedMs } = this.options;
    return elapsedMs === undefined || elapsedMs() < this.leaseEndsMs;
  }

  whenSole(again: () => void): void {
    this.again = again;
  }

  get copies(): Copies | null {
    return this.copiesWatch.copies;
  }

  /** Reads on the writer's connection, so that a new leader needs no other. Not to be closed. */
  get source(): PostgresSource {
    return new PostgresSource(this.client, describeAddress(this.options.address), false);
  }

  get serving(): string {
    return this.said.serving;
  }

  /**
   * `lost` is called once, when this process no longer leads, or can no longer know whether it
   * does.
   */
  whenLost(lost: (error: JournalError) => void): void {
    if (this.failure !== null && !this.closing) lost(this.failure);
    else this.lost = lost;
  }

  /** `asked` is called once, when a standby is to take over: this journal must then close. */
  whenAskedToHandOver(asked: (standbyId: string) => void): void {
    this.asked = asked;
  }

  /** Announces the address at which this leader takes requests of replicas, as `host:port`. */
  advertise(address: string): void {
    this.said = { ...this.said, address };
    this.renewNow();
  }

  /** Announces that this leader now serves clients, with its address and its secret. */
  serves(serving: string, secret: string): void {
    this.said = { ...this.said, serving, secret };
    this.renewNow();
  }

  append(batch: BatchContent, done: CommitDone): void {
    if (this.failure !== null) throw this.failure;
    if (this.writing) throw new Error('a batch is still being written');
    mustBeNext(batch, this.end);
    const { firstSequence, lastSequence, records, digest } = batch;
    const hash = hashOf(batch, this.end.hash);
    this.writing = true;
    const values = [this.epoch, firstSequence, lastSequence, records, digest, hash, LEASE_MS];
    const unanswered = this.watch();
    const sentMs = this.nowMs();
    this.client.query({ name: 'append', text: APPEND_SQL, values }).then(
      async ({ rows }) => {
        clearTimeout(unanswered);
        this.checkRow(rows[0], sentMs);
        // Sent after the batch, so its answer shows the settings after the commit.
        if (this.failure === null && this.renewing !== null) await this.renewing;
        this.writing = false;
        if (this.failure === null) this.end = { sequence: lastSequence, hash, digest };
        done(this.failure);
      },
      (error: Error) => {
        clearTimeout(unanswered);
        this.writing = false;
        this.fail(unknownFate(error));
        done(this.failure);
      },
    );
  }

  /** Ends the lease, so that another leader need not wait. Not while a batch is being written. */
  async close(): Promise<void> {
    if (this.writing)
      throw new Error('the journal cannot be closed while a batch is being written');
    const wasGood = this.failure === null;
    this.closing = true;
    this.failure ??= new JournalError('the journal is closed', null);
    clearTimeout(this.renewal);
    this.copiesWatch.close();
    const resigned = wasGood ? this.client.query(RESIGN_SQL, [this.epoch]) : Promise.resolve();
    const waited = new AbortController();
    // Without an answer, the lease ends by itself.
    const late = delay(LEASE_MS, undefined, { signal: waited.signal });
    await Promise.race([resigned, late]).catch(() => {});
    waited.abort();
    await late.catch(() => {});
    await this.client.end().catch(() => {});
  }

  private renewLater(): void {
    this.renewal = setTimeout(() => this.renew(), RENEW_EVERY_MS);
    this.renewal.unref();
  }

  /** Renews the lease while there are no appends, which also renew it. */
  private renew(): void {
    clearTimeout(this.renewal);
    const sent = this.said;
    this.renewing = this.renewed(sent).then(() => {
      this.renewing = null;
      if (this.failure !== null) return;
      if (this.said === sent) this.renewLater();
      else this.renew();
    });
  }

  private renewNow(): void {
    if (this.failure === null && this.renewing === null) this.renew();
  }

  private async renewed({ address, serving, secret }: PostgresJournal['said']): Promise<void> {
    const unanswered = this.watch();
    const sentMs = this.nowMs();
    try {
      const values = [this.epoch, LEASE_MS, address, serving, secret];
      const { rows } = await this.client.query({ name: 'renew', text: RENEW_SQL, values });
      this.checkRow(rows[0], sentMs);
      if (this.failure === null) this.again?.();
      this.standbys = Number(rows[0]?.standbys ?? 0);
      const successor = rows[0]?.successor ?? '';
      if (successor !== '' && this.failure === null) {
        this.asked?.(successor);
        this.asked = null;
      }
    } catch (error) {
      this.fail(connectionLost(error as Error));
    }
    clearTimeout(unanswered);
  }

  private nowMs(): number {
    return this.options.elapsedMs?.() ?? 0;
  }

  /** The database counts the lease from when it has the statement, which is after it was sent. */
  private checkRow(row: DurabilitySettings | undefined, sentMs: number): void {
    if (row === undefined) {
      this.fail(takenOver(this.epoch));
      return;
    }
    const problem = durabilityProblem(row, this.options.isUnreplicated);
    if (problem !== null) this.fail(problem);
    else this.leaseEndsMs = Math.max(this.leaseEndsMs, sentMs + LEASE_MS);
  }

  /**
   * A statement that waits for standbys is not a failure. But if the connection's node was cut off,
   * another exchange may have taken over on another node.
   */
  private watch(): NodeJS.Timeout {
    const timer = setTimeout(() => {
      if (this.failure !== null || this.isWatching) return;
      this.isWatching = true;
      void this.askOthers().finally(() => {
        this.isWatching = false;
      });
      timer.refresh();
    }, UNANSWERED_MS);
    timer.unref();
    return timer;
  }

  private async askOthers(): Promise<void> {
    try {
      const source = await PostgresSource.open(this.options.address, 'standby');
      const { epoch } = await source.head().finally(() => source.close());
      if (epoch > this.epoch) this.fail(takenOver(this.epoch));
    } catch {
      // No node answers, so nothing is known: continue to wait.
    }
  }

  private fail(error: JournalError): void {
    if (this.failure !== null) return;
    this.failure = error;
    clearTimeout(this.renewal);
    this.copiesWatch.close();
    // A statement without an answer ends with its connection.
    if (this.isWatching) void this.client.end().catch(() => {});
    this.lost?.(error);
  }
}

interface Writer {
  epoch: number;
  lastSequence: number;
  hash: Buffer;
  leaseEndsMs: number;
}

/** Raises the epoch as soon as the lease of the leader before is over. */
async function leadership(
  client: pg.Client,
  leader: string,
  mayConnect: () => Promise<void>,
  { isForced = false, onWaiting, standby, candidate, signal, elapsedMs }: PostgresJournalOptions,
): Promise<Writer> {
  const ask = async (text: string, values: unknown[], isWaiting: boolean) => {
    // Missing from the types of pg. A waiting process gives up on a silent node, which may be
    // paused and no longer the primary.
    const query: pg.QueryConfig & { query_timeout?: number } = { text, values };
    if (isWaiting) query.query_timeout = UNANSWERED_MS;
    return (await client.query(query)).rows;
  };
  // Ends statements that wait for a lock after their caller gave up. Waits for copies continue.
  await client.query(`SET statement_timeout = ${UNANSWERED_MS}`);
  let known: Leader | null = null;
  /** When the lease was last renewed, as the last query has found it. */
  let { renewed } = (await ask(LEADER_SQL, [], true))[0]!;
  for (let asks = 0; ; asks++) {
    const isLook = asks % (LOOK_EVERY_MS / ASK_EVERY_MS) === 0;
    if ((asks + 1) % (CONNECT_EVERY_MS / ASK_EVERY_MS) === 0) await mayConnect();
    if (isLook && candidate !== undefined) {
      const [row] = await ask(LEADER_SQL, [], true);
      const { atMs: databaseMs, renewedMs } = row;
      await candidate.looked({ databaseMs, renewedMs, copies: copiesIn(row) });
    }
    const mayLead = candidate === undefined || candidate.mayLead();
    if (mayLead) {
      const values = [leader, LEASE_MS, isForced, standby?.id ?? '', renewed];
      const sentMs = elapsedMs?.() ?? 0;
      const [writer] = await ask(TAKE_OVER_SQL, values, standby !== undefined || asks > 0);
      renewed = writer.renewed;
      // int8 comes as text.
      if (writer.epoch !== null) {
        const { epoch, last_sequence: last, hash } = writer;
        await client.query('RESET statement_timeout');
        const leaseEndsMs = sentMs + LEASE_MS;
        return { epoch: Number(epoch), lastSequence: Number(last), hash, leaseEndsMs };
      }
    }
    if (isLook && mayLead) {
      if (standby !== undefined) {
        const { id, address, sequence } = standby;
        await ask(WAITING_SQL, [id, address, sequence()], true);
      }
      const [row] = await ask(LEADER_SQL, [], true);
      const leads = { epoch: Number(row.epoch), serving: row.serving, secret: row.secret };
      if (!isDeepStrictEqual(leads, known)) onWaiting?.(leads);
      known = leads;
    }
    await delay(ASK_EVERY_MS, undefined, { ...(signal === undefined ? {} : { signal }) });
  }
}

function takenOver(epoch: number): JournalError {
  return new JournalError(
    `another exchange has taken over the journal from this one, which led in epoch ${epoch}. ` +
      'Only commands that were not acknowledged may be lost.',
    null,
  );
}

function unknownFate(error: Error): JournalError {
  return new JournalError(
    `the journal could not be written: ${error.message}. It is unknown whether the last batch ` +
      'was committed; none of its commands was acknowledged. The next startup reads what was committed.',
    null,
    error,
  );
}

function connectionLost(error: Error): JournalError {
  return new JournalError(`the connection to the journal is lost: ${error.message}`, null, error);
}

function notReplicated(message: string): JournalError {
  return new JournalError(
    `PostgreSQL has stopped waiting for the standbys (${message}): the last batch may be on one ` +
      'machine only. None of its commands was acknowledged.',
    null,
  );
}
