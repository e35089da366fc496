/** The built exchange as a process of its own, in a temporary folder, for a browser to look at. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExchangeProcess } from '../measure/exchange-process.js';
import { writePrices } from './prices.js';

export interface RunningExchange {
  url: string;
  stop: () => Promise<void>;
}

/**
 * With prices from a file, from the second minute of a window on, or with simulated ones.
 * `variables` are set besides.
 */
export async function startExchange(
  feed: 'file' | 'simulated',
  speed: number,
  variables: Record<string, string> = {},
): Promise<RunningExchange> {
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
  const exchange = await ExchangeProcess.start({ environment });
  return {
    url: `http://127.0.0.1:${exchange.port}`,
    stop: async () => {
      await exchange.stop();
      await rm(folder, { recursive: true });
    },
  };
}
