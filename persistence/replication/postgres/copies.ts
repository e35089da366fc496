/**
 * The copies of a journal on PostgreSQL: how many must have a commit, which are named for it, and
 * which receive the primary's log now. Read over a separate connection, because the writer's waits
 * while too few copies are available. The connection is reopened every ten reads, so that an
 * expired password is noticed while the writer's connection still works.
 *
 * Invariant: null means unknown: the primary has not answered, or hides what its standbys do from
 * this user, who then needs the role pg_read_all_stats.
 */
import type pg from 'pg';
import type { PostgresAddress } from './address.js';
import { COPIES_SQL } from './schema.js';
import { connect, PasswordRefused } from './server.js';

export interface Copies {
  /** The number of copies that must have a commit before it is acknowledged. */
  needed: number;
  /** The copies that receive the log. */
  there: string[];
  /** Copies listed in synchronous_standby_names that are not receiving the log. */
  missing: string[];
}

export interface CopiesRow {
  names: string;
  senders: { name: string; state: string | null; kind: string | null }[];
}

const LOOK_EVERY_MS = 1_000;
const ANSWER_MS = 2_000;
const LOOKS_MAX = 10;
/** The form of the setting that server.ts requires: a number, and names in parentheses. */
const NEEDED = /(\d+)\s*\((.*)\)/;

/** Reads the copies from a row; null if the primary hides them from this user. */
export function copiesIn({ names, senders }: CopiesRow): Copies | null {
  if (senders.some(({ state }) => state === null)) return null;
  const [, needed = '0', list = ''] = NEEDED.exec(names) ?? [];
  const named = list
    .split(',')
    .map((name) => name.trim().replace(/^"(.*)"$/, '$1'))
    .filter((name) => name !== '' && name !== '*');
  const there = senders
    .filter(({ state, kind }) => state === 'streaming' && kind !== 'async')
    .map(({ name }) => name)
    .sort();
  const found = new Set(there.map((name) => name.toLowerCase()));
  return {
    needed: Number(needed),
    there,
    missing: named.filter((n) => !found.has(n.toLowerCase())),
  };
}

export class CopiesWatch {
  copies: Copies | null = null;
  private told: Copies | null = null;
  private client: pg.Client | null = null;
  private looks = 0;
  private isRefused = false;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  /** @param refused gets the problem when the password is refused, and null when it no longer is */
  constructor(
    private readonly address: PostgresAddress,
    private readonly changed: (copies: Copies, before: Copies | null) => void,
    private readonly refused: (problem: string | null) => void,
  ) {
    this.lookLater(0);
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.release();
  }

  private lookLater(afterMs: number): void {
    this.timer = setTimeout(() => void this.look(), afterMs);
    this.timer.unref();
  }

  private async look(): Promise<void> {
    try {
      this.client ??= await this.connected();
      // Missing from the types of pg.
      const query: pg.QueryConfig & { query_timeout: number } = {
        text: COPIES_SQL,
        query_timeout: ANSWER_MS,
      };
      const { rows } = await this.client.query(query);
      this.copies = copiesIn(rows[0]);
      if (++this.looks === LOOKS_MAX) this.release();
    } catch (error) {
      this.copies = null;
      this.release();
      if (error instanceof PasswordRefused && !this.isRefused) this.refused(error.message);
      this.isRefused ||= error instanceof PasswordRefused;
    }
    if (this.isClosed) this.release();
    else this.lookLater(LOOK_EVERY_MS);
    const { copies, told } = this;
    if (copies === null || this.isClosed || JSON.stringify(copies) === JSON.stringify(told)) return;
    this.told = copies;
    this.changed(copies, told);
  }

  private async connected(): Promise<pg.Client> {
    const client = await connect(this.address, 'primary');
    if (this.isRefused) this.refused(null);
    this.isRefused = false;
    return client;
  }

  private release(): void {
    this.looks = 0;
    void this.client?.end().catch(() => {});
    this.client = null;
  }
}
