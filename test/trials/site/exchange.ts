/** The built exchange as a separate process, in a temporary folder, for a browser. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExchangeProcess } from '../../support/processes/exchange-process.js';
import { writePrices } from '../../support/site/prices.js';

export interface ExchangeOptions {
  /** The source of prices: a file from the second minute of a window on, or the simulation. */
  feed: 'file' | 'simulated';
  speed: number;
  /** Additional environment variables. */
  variables?: Record<string, string>;
}

/** Runs `work` with the address of an exchange, and stops the exchange, even if `work` fails. */
export async function withExchange(
  { feed, speed, variables = {} }: ExchangeOptions,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'site-'));
  const prices = join(folder, 'prices.csv');
  await writePrices(prices);
  const environment = {
    PORT: '0',
    DATA_FOLDER: join(folder, 'data'),
    ASSETS: 'BTC',
    LOG_LEVEL: 'warn',
    FAIR_USE: 'off',
    PASSWORD_COST_LOG2: '10',
    FEED_SPEED: `${speed}`,
    PRICE_FEED: feed === 'file' ? `file:${prices}` : feed,
    ...variables,
  };
  let exchange: ExchangeProcess | null = null;
  try {
    exchange = await ExchangeProcess.start({ environment });
    await work(`http://127.0.0.1:${exchange.port}`);
  } finally {
    await exchange?.mustStop();
    await rm(folder, { recursive: true });
  }
}
