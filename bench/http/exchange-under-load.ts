/**
 * The built program in its own process, on a new data folder, with synchronous=FULL. A file gives
 * prices and time, so one market is open for a quarter hour from the start.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, Client } from '../../test/support/http/client.js';
import { HOST, type RequestFields } from '../../test/support/http/messages.js';
import { ExchangeProcess } from '../../test/support/processes/exchange-process.js';
import { inFolder } from '../../test/support/processes/machine.js';
import { WINDOW_START_MS } from '../../test/support/workload/open-market.js';

/** In dollars. */
const FUNDS = 1_000_000;
const MAKERS = 8;
/** Behind the best level on each side. */
const LEVELS = 40;
const LEVEL_SHARES = 100;

const PATIENCE_MS = 120_000;

export const LIMITS_NOTE =
  'FAIR_USE=off, CONNECTIONS_PER_ADDRESS=0: no request is refused for its rate; the overload limits have their defaults.';

export interface BenchOptions {
  /** The exchange's main module; default: this build's. */
  program?: string | undefined;
  /** In addition to {@link environmentIn}. */
  variables?: Readonly<Record<string, string>>;
  /** For the temporary data folder. */
  parent: string;
  /** Per load. */
  seconds: number;
  /** For the exchange's CPU profile; null if there is none. */
  profileFolder: string | null;
}

type Stoppable = { stop(): Promise<void> };

/** The book is full. `started` registers a process to stop. */
export function withExchange<T>(
  { parent, ...options }: BenchOptions,
  work: (
    exchange: ExchangeUnderLoad,
    started: <P extends Stoppable>(process: P) => P,
    stopAll: () => Promise<void>,
  ) => Promise<T>,
): Promise<T> {
  const running: Stoppable[] = [];
  const started = <P extends Stoppable>(process: P): P => {
    running.push(process);
    return process;
  };
  const stopAll = async () => {
    while (running.length > 0) await running.pop()!.stop();
  };
  return inFolder(parent, async (folder) => {
    try {
      const exchange = await ExchangeUnderLoad.start(folder, options, started);
      const result = await work(exchange, started, stopAll);
      await stopAll();
      return result;
    } finally {
      // Processes remain only after an error, which is rethrown.
      await Promise.allSettled(running.map((process) => process.stop()));
    }
  });
}

export class ExchangeUnderLoad {
  private readonly client: Client;
  marketId = '';

  private constructor(
    private readonly process: ExchangeProcess,
    readonly dataFolder: string,
  ) {
    this.client = new Client({ port: this.port, isSecure: process.isSecure });
  }

  static async start(
    folder: string,
    { variables, profileFolder, program }: Omit<BenchOptions, 'parent' | 'seconds'>,
    started: (process: Stoppable) => unknown,
  ): Promise<ExchangeUnderLoad> {
    const environment = { ...environmentIn(folder), ...variables };
    const nodeOptions =
      profileFolder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
    const process = await ExchangeProcess.start({ environment, nodeOptions, program });
    started({ stop: () => process.mustStop() });
    const exchange = new ExchangeUnderLoad(process, environment.DATA_FOLDER);
    exchange.marketId = await exchange.openMarket();
    await exchange.fillBook();
    return exchange;
  }

  get port(): number {
    return this.process.port;
  }

  get isSecure(): boolean {
    return this.process.isSecure;
  }

  get pid(): number {
    return this.process.pid;
  }

  /** @throws Error unless the exchange answers with success */
  send(request: RequestFields): Promise<Answer> {
    return this.client.mustAsk(request);
  }

  /** Returns request headers. */
  async register(username: string): Promise<Record<string, string>> {
    return { 'x-user-token': (await this.client.register(username)).token };
  }

  async durableSequence(): Promise<number> {
    return (await this.send({ path: '/status' })).json.durableSequence;
  }

  /** Waits until the history is complete, so that later loads are not slowed. In milliseconds. */
  async followed(): Promise<number> {
    const startedMs = performance.now();
    while (performance.now() - startedMs < PATIENCE_MS) {
      // Answered once the history has everything durable; refused if it lags over two seconds.
      const path = `/markets/15m/${this.marketId}/trades?limit=1`;
      if ((await this.client.ask({ path })).status === 200) return performance.now() - startedMs;
      await sleep(20);
    }
    throw new Error('the follower does not catch up');
  }

  /** The market opens with the first price, maybe after the exchange's start. */
  private async openMarket(): Promise<string> {
    for (let attempt = 0; attempt < 100; attempt++) {
      const [market] = (await this.send({ path: '/markets/15m?asset=BTC' })).json.markets;
      if (market !== undefined) return market.id;
      await sleep(100);
    }
    throw new Error('no market is open');
  }

  /**
   * Makers bid 0.499 for both outcomes, and so offer both at 0.501: more than all benchmarks take.
   */
  private async fillBook(): Promise<void> {
    for (let i = 0; i < MAKERS; i++) await this.rest(`maker-${i}`, 0.9 * FUNDS, [499]);
    const levels = Array.from({ length: LEVELS }, (_, i) => 499 - LEVELS + i);
    await this.rest('maker-behind', LEVEL_SHARES, levels);
  }

  private async rest(username: string, shares: number, levels: readonly number[]): Promise<void> {
    const headers = await this.register(username);
    const path = `/markets/15m/${this.marketId}/buy`;
    for (const ticks of levels) {
      for (const outcome of ['UP', 'DOWN']) {
        const body = { outcome, shares, price: ticks / 1_000, timeInForce: 'GTC' };
        await this.send({ method: 'POST', path, headers, body });
      }
    }
  }
}

/** One asset's prices for a quarter hour, and the configuration that uses them. */
export function environmentIn(folder: string) {
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
