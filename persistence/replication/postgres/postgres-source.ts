/**
 * Reads a journal on PostgreSQL, even while a leader writes it. PostgreSQL shows a commit to others
 * only when the leader's statement has returned, which is when the commit is replicated.
 *
 * Invariant: a batch is returned only if it continues the hash chain; the first that does not is
 * a {@link JournalError} that names it.
 */
import type pg from 'pg';
import { JournalError, JournalUnavailable } from '../../journal/errors.js';
import { GENESIS, type JournalPosition } from '../../journal/format.js';
import { type RowBefore, readAhead, rowProblem } from '../../journal/row.js';
import { type JournalBatch, type JournalSource, positionAfter } from '../../journal/store.js';
import { describeAddress, type PostgresAddress } from './address.js';
import { BEFORE_SQL, HEAD_SQL, PAGE_SQL } from './schema.js';
import { connect, hasTables, type NodeKind } from './server.js';

const PAGE_ROWS = 256;
const PAGE_BYTES = 2 * 1024 * 1024;
/** A leader renews its lease several times a second: one that has not for this long may be dead. */
const SILENT_MS = 2_000;

export interface JournalHead {
  epoch: number;
  lastSequence: number;
  /** Where the leader takes the requests of replicas; null if it does not yet, or has resigned. */
  address: string | null;
  /** Where it serves clients; null as above, or if it has been silent for seconds. */
  serving: string | null;
  /** Everything committed that long ago, or earlier, is there. */
  ageMs: number;
  /** The time until the leader's lease ends; negative if it has ended. */
  leaseLeftMs: number;
}

export class PostgresSource implements JournalSource {
  constructor(
    private readonly client: pg.Client,
    private readonly name: string,
    readonly mayLag: boolean,
  ) {}

  /** @throws JournalError if the journal is missing or of a wrong version; JournalUnavailable. */
  static async open(address: PostgresAddress, kind: NodeKind): Promise<PostgresSource> {
    const client = await connect(address, kind);
    const name = describeAddress(address);
    try {
      if (await hasTables(client)) return new PostgresSource(client, name, kind === 'standby');
      throw new JournalError(`there is no journal at ${name}`, null);
    } catch (error) {
      await client.end().catch(() => {});
      throw error instanceof JournalError ? error : unavailable(name, error);
    }
  }

  /** One row, so it may be asked hundreds of times a second. @throws JournalUnavailable */
  async head(): Promise<JournalHead> {
    const [row] = await this.query(HEAD_SQL, []);
    if (row === undefined)
      throw new JournalUnavailable(`the journal at ${this.name} has no row in writer`, null);
    const { epoch, lastSequence, address, serving, ageMs, leaseLeftMs } = row;
    return {
      epoch: Number(epoch),
      lastSequence: Number(lastSequence),
      address: address === '' ? null : (address as string),
      serving: serving === '' || (ageMs as number) > SILENT_MS ? null : (serving as string),
      ageMs: Math.max(0, ageMs as number),
      leaseLeftMs: leaseLeftMs as number,
    };
  }

  end(): Promise<JournalPosition> {
    return this.positionBefore(Number.MAX_SAFE_INTEGER);
  }

  async positionAt(sequence: number): Promise<JournalPosition | null> {
    if (sequence === 0) return GENESIS;
    const position = await this.positionBefore(sequence);
    return position.sequence === sequence ? position : null;
  }

  async batchWith(sequence: number): Promise<JournalBatch | null> {
    const batch = await this.batchBefore(sequence);
    return batch === null || batch.lastSequence < sequence ? null : batch;
  }

  batches(after: JournalPosition = GENESIS): AsyncGenerator<JournalBatch, void, void> {
    return readAhead(
      after,
      (from) => this.rows(PAGE_SQL, [from, PAGE_ROWS, PAGE_BYTES]),
      (batch, before) => this.check(batch, before),
    );
  }

  async close(): Promise<void> {
    await this.client.end().catch(() => {});
  }

  private async positionBefore(sequence: number): Promise<JournalPosition> {
    const row = await this.batchBefore(sequence);
    return row === null ? GENESIS : positionAfter(row);
  }

  private async batchBefore(sequence: number): Promise<JournalBatch | null> {
    const [row, previous] = await this.rows(BEFORE_SQL, [sequence, 2]);
    if (row === undefined) return null;
    this.check(row, previous === undefined ? GENESIS : positionAfter(previous));
    return row;
  }

  private check(batch: JournalBatch, after: RowBefore): void {
    const problem = rowProblem(batch, after);
    if (problem === null) return;
    const first = after.sequence + 1;
    throw new JournalError(
      `the journal at ${this.name}: the batch at sequence ${first} ${problem}. Nothing was changed. ` +
        'Take a copy of the cluster, and restore the database from a backup or a standby.',
      first,
    );
  }

  private async rows(sql: string, values: readonly number[]): Promise<JournalBatch[]> {
    const rows = (await this.query(sql, values)) as unknown as JournalBatch[];
    // int8 comes as text.
    return rows.map((row) => ({
      ...row,
      firstSequence: Number(row.firstSequence),
      lastSequence: Number(row.lastSequence),
    }));
  }

  private async query(sql: string, values: readonly number[]): Promise<Record<string, unknown>[]> {
    try {
      return (await this.client.query(sql, [...values])).rows;
    } catch (error) {
      throw unavailable(this.name, error);
    }
  }
}

function unavailable(name: string, error: unknown): JournalUnavailable {
  const { message } = error as Error;
  return new JournalUnavailable(`the journal at ${name} cannot be read now: ${message}`, error);
}
