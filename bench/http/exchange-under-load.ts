/**
 * The exchange of the HTTP and stream benchmarks: the built program in its own process, on a new
 * data folder, with synchronous=FULL. Prices and time come from a file, so one market is open for a
 * quarter hour from the start. The house, fair use and the limit on connections are off.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { type ServerProcess, startExchangeProcess } from '../measure/processes.js';
import { WINDOW_START_MS } from '../workload/open-market.js';

export const HOST = '127.0.0.1';
/** The starting balance of a user, in dollars. */
const FUNDS = 1_000_000;
const MAKERS = 8;
/** Levels behind the best one on each side, and the shares on each. */
const LEVELS = 40;
const LEVEL_SHARES = 100;

/** How long the follower may take to catch up. */
const PATIENCE_MS = 120_000;

export const LIMITS_NOTE =
  'FAIR_USE=off, CONNECTIONS_PER_ADDRESS=0: no request is refused for its rate; the overload limits have their defaults.';

export interface ExchangeOptions {
  /** The parent of the data folder. */
  folder: string;
  /** Where the exchange's CPU profile goes; null: it is not profiled. */
  profileFolder: string | null;
}

export class ExchangeUnderLoad {
  private constructor(
    private readonly process: ServerProcess,
    readonly dataFolder: string,
    /** The open market. */
    readonly marketId: string,
  ) {}

  static async start({ folder, profileFolder }: ExchangeOptions): Promise<ExchangeUnderLoad> {
    const environment = environmentIn(folder);
    const process = await startExchangeProcess(environment, profileFolder);
    try {
      const marketId = await openMarket(process.port);
      return new ExchangeUnderLoad(process, environment.DATA_FOLDER, marketId);
    } catch (error) {
      await process.stop();
      throw error;
    }
  }

  get port(): number {
    return this.process.port;
  }

  stop(): Promise<void> {
    return this.process.stop();
  }

  /** Returns the token of a new user. */
  async register(username: string): Promise<string> {
    const body = { username, password: 'correct horse battery' };
    const answer = await this.send('POST', '/auth/register', { body });
    return (JSON.parse(answer) as { token: string }).token;
  }

  /**
   * Makers bid 0.499 for both outcomes with nearly half of their funds each, which offers both at
   * 0.501: more than all benchmarks take. Behind them are {@link LEVELS} more levels.
   */
  async fillBook(): Promise<void> {
    for (let i = 0; i < MAKERS; i++) {
      const token = await this.register(`maker-${i}`);
      for (const outcome of ['UP', 'DOWN']) await this.rest(token, outcome, 0.9 * FUNDS, 499);
    }
    const token = await this.register('maker-behind');
    for (let ticks = 499 - LEVELS; ticks < 499; ticks++) {
      for (const outcome of ['UP', 'DOWN']) await this.rest(token, outcome, LEVEL_SHARES, ticks);
    }
  }

  private async rest(token: string, outcome: string, shares: number, ticks: number): Promise<void> {
    const body = { outcome, shares, price: ticks / 1_000, timeInForce: 'GTC' };
    await this.send('POST', `/markets/15m/${this.marketId}/buy`, { body, token });
  }

  async durableSequence(): Promise<number> {
    const status = JSON.parse(await this.send('GET', '/status')) as { durableSequence: number };
    return status.durableSequence;
  }

  /**
   * Waits until the history is complete, so that no later measurement pays for it. Returns the
   * milliseconds.
   */
  async followed(): Promise<number> {
    const startedMs = performance.now();
    while (performance.now() - startedMs < PATIENCE_MS) {
      // Answered once the history has what was durable; refused if it is more than two seconds
      // behind.
      const answer = await request(
        `http://${HOST}:${this.port}/api/markets/15m/${this.marketId}/trades?limit=1`,
      );
      await answer.body.dump();
      if (answer.statusCode === 200) return performance.now() - startedMs;
      await sleep(20);
    }
    throw new Error('the follower does not catch up');
  }

  /** @throws Error unless the exchange answers with success. */
  send(method: 'GET' | 'POST', path: string, call: Call = {}): Promise<string> {
    return send(this.port, method, path, call);
  }
}

interface Call {
  body?: unknown;
  token?: string;
}

async function send(
  port: number,
  method: 'GET' | 'POST',
  path: string,
  { body, token }: Call,
): Promise<string> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (token !== undefined) headers['x-user-token'] = token;
  const answer = await request(`http://${HOST}:${port}/api${path}`, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
  return text;
}

/** A market opens with the first price, which may come after the exchange has started. */
async function openMarket(port: number): Promise<string> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const { markets } = JSON.parse(await send(port, 'GET', '/markets/15m?asset=BTC', {})) as {
      markets: { id: string }[];
    };
    const [market] = markets;
    if (market !== undefined) return market.id;
    await sleep(100);
  }
  throw new Error('no market is open');
}

/** Writes the prices of one asset for a quarter hour. Returns the configuration. */
function environmentIn(folder: string) {
  const prices = join(folder, 'prices.csv');
  const lines = ['observedAtMs,asset,price'];
  for (let second = 0; second <= 900; second++)
    lines.push(`${WINDOW_START_MS + second * 1_000},BTC,90000`);
  writeFileSync(prices, `${lines.join('\n')}\n`);
  return {
    PORT: '0',
    HOST,
    DATA_FOLDER: join(folder, 'data'),
    ASSETS: 'BTC',
    PRICE_FEED: `file:${prices}`,
    HOUSE: 'off',
    STARTING_BALANCE: `${FUNDS}`,
    PASSWORD_COST_LOG2: '10',
    FAIR_USE: 'off',
    CONNECTIONS_PER_ADDRESS: '0',
    LOG_LEVEL: 'error',
  };
}
