/** The plain design's exchange (server.ts): tables, and a durable transaction per `buy`. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** A lot is a thousandth of a share. A price in ticks is a lot's cost in micro-dollars. */
const LOTS_PER_SHARE = 1_000;
const TICKS_PER_DOLLAR = 1_000;
const MICROS_PER_DOLLAR = 1_000_000;
const FEE_DIVISOR = 200;
const FUNDS_MICROS = 1_000_000 * MICROS_PER_DOLLAR;
const BEST_TICKS = 501;
const LEVELS = 40;
const LEVEL_LOTS = 1e12;

export interface PlainSetup {
  /** Each user has a million dollars. */
  tokens: readonly string[];
  marketId: string;
  /** The exchange's answer. Fields not set here stay unchanged. */
  sample: Record<string, unknown>;
}

export interface PlainOrder {
  outcome: 'UP' | 'DOWN';
  /** Dollars to spend at any price. */
  amount: number;
}

interface Fill {
  tradeId: string;
  price: number;
  shares: number;
}

const TABLES = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE users (id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE,
    availableMicros INTEGER NOT NULL);
  CREATE TABLE resting (id INTEGER PRIMARY KEY, userId INTEGER NOT NULL, market TEXT NOT NULL,
    outcome TEXT NOT NULL, priceTicks INTEGER NOT NULL, lots INTEGER NOT NULL);
  CREATE INDEX restingByPrice ON resting (market, outcome, priceTicks, id);
  CREATE TABLE orders (id INTEGER PRIMARY KEY, userId INTEGER NOT NULL, market TEXT NOT NULL,
    outcome TEXT NOT NULL, budgetMicros INTEGER NOT NULL, atMs INTEGER NOT NULL);
  CREATE TABLE trades (id INTEGER PRIMARY KEY, orderId INTEGER NOT NULL, makerId INTEGER NOT NULL,
    priceTicks INTEGER NOT NULL, lots INTEGER NOT NULL);
  CREATE TABLE positions (userId INTEGER NOT NULL, market TEXT NOT NULL, outcome TEXT NOT NULL,
    lots INTEGER NOT NULL, PRIMARY KEY (userId, market, outcome)) WITHOUT ROWID;`;

const STATEMENTS = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  user: 'SELECT id, availableMicros FROM users WHERE token = ?',
  best: `SELECT id, userId, priceTicks, lots FROM resting
    WHERE market = ? AND outcome = ? ORDER BY priceTicks, id LIMIT 1`,
  take: 'UPDATE resting SET lots = lots - ? WHERE id = ?',
  drop: 'DELETE FROM resting WHERE id = ?',
  order: `INSERT INTO orders (userId, market, outcome, budgetMicros, atMs)
    VALUES (?, ?, ?, ?, ?)`,
  trade: 'INSERT INTO trades (orderId, makerId, priceTicks, lots) VALUES (?, ?, ?, ?)',
  pay: 'UPDATE users SET availableMicros = availableMicros + ? WHERE id = ?',
  hold: `INSERT INTO positions VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET lots = lots + excluded.lots`,
  positions: 'SELECT outcome, lots FROM positions WHERE userId = ? AND market = ?',
} as const;

// Loaded here, so that only the plain design's process warns that the module is experimental.
const { DatabaseSync: Database } = await import('node:sqlite');

export class PlainExchange {
  readonly database: DatabaseSync;
  private readonly run: Record<keyof typeof STATEMENTS, StatementSync>;
  private sequence = 0;

  constructor(
    file: string,
    private readonly setup: PlainSetup,
  ) {
    const database = new Database(file);
    this.database = database;
    database.exec(TABLES);
    this.run = Object.fromEntries(
      Object.entries(STATEMENTS).map(([name, sql]) => [name, database.prepare(sql)]),
    ) as Record<keyof typeof STATEMENTS, StatementSync>;
    this.fill();
  }

  /** null: the user or the money is missing. */
  buy(token: string, market: string, { outcome, amount }: PlainOrder): object | null {
    const { run } = this;
    run.begin.run();
    try {
      const receipt = this.trade(token, market, outcome, Math.round(amount * MICROS_PER_DOLLAR));
      (receipt === null ? run.rollback : run.commit).run();
      return receipt;
    } catch (error) {
      run.rollback.run();
      throw error;
    }
  }

  private trade(token: string, market: string, outcome: string, budget: number): object | null {
    const { run } = this;
    const user = run.user.get(token) as { id: number; availableMicros: number } | undefined;
    if (user === undefined || user.availableMicros < budget + Math.ceil(budget / FEE_DIVISOR))
      return null;
    const atMs = Date.now();
    const orderId = Number(run.order.run(user.id, market, outcome, budget, atMs).lastInsertRowid);
    const fills: Fill[] = [];
    let [lots, spent] = [0, 0];
    for (;;) {
      const maker = run.best.get(market, outcome) as
        | { id: number; userId: number; priceTicks: number; lots: number }
        | undefined;
      if (maker === undefined) break;
      const taken = Math.min(maker.lots, Math.floor((budget - spent) / maker.priceTicks));
      if (taken === 0) break;
      if (taken === maker.lots) run.drop.run(maker.id);
      else run.take.run(taken, maker.id);
      const value = taken * maker.priceTicks;
      run.pay.run(value, maker.userId);
      const tradeId = run.trade.run(orderId, maker.userId, maker.priceTicks, taken).lastInsertRowid;
      const price = maker.priceTicks / TICKS_PER_DOLLAR;
      fills.push({ tradeId: `t${tradeId}`, price, shares: taken / LOTS_PER_SHARE });
      lots += taken;
      spent += value;
    }
    const fee = Math.ceil(spent / FEE_DIVISOR);
    run.pay.run(0 - spent - fee, user.id);
    run.hold.run(user.id, market, outcome, lots);
    const position = { UP: 0, DOWN: 0 };
    for (const row of run.positions.all(user.id, market) as {
      outcome: 'UP' | 'DOWN';
      lots: number;
    }[])
      position[row.outcome] = row.lots / LOTS_PER_SHARE;
    const dollars = (micros: number) => micros / MICROS_PER_DOLLAR;
    return {
      ...this.setup.sample,
      orderId: `o${orderId}`,
      marketId: market,
      userId: `u${user.id}`,
      outcome,
      shares: lots / LOTS_PER_SHARE,
      averagePrice: lots === 0 ? null : spent / lots / TICKS_PER_DOLLAR,
      spent: dollars(spent),
      fee: dollars(fee),
      total: dollars(spent + fee),
      unspent: dollars(budget - spent),
      fills,
      balance: { available: dollars(user.availableMicros - spent - fee), held: 0 },
      position,
      sequence: ++this.sequence,
      atMs,
    };
  }

  private fill(): void {
    const { database, setup } = this;
    const user = database.prepare('INSERT INTO users (token, availableMicros) VALUES (?, ?)');
    const resting = database.prepare(
      'INSERT INTO resting (userId, market, outcome, priceTicks, lots) VALUES (?, ?, ?, ?, ?)',
    );
    database.exec('BEGIN');
    for (const token of setup.tokens) user.run(token, FUNDS_MICROS);
    const maker = user.run('', FUNDS_MICROS).lastInsertRowid;
    for (const outcome of ['UP', 'DOWN']) {
      for (let level = 0; level <= LEVELS; level++)
        resting.run(maker, setup.marketId, outcome, BEST_TICKS + level, LEVEL_LOTS);
    }
    database.exec('COMMIT');
  }
}
