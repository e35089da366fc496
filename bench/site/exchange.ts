/** The built exchange as a process of its own, in a temporary folder, for a browser to look at. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writePrices } from './prices.js';

const MAIN = fileURLToPath(new URL('../../gateway/main.js', import.meta.url));

export interface RunningExchange {
  url: string;
  stop: () => Promise<void>;
}

/** With prices from a file, from the second minute of a window on, or with simulated ones. */
export async function startExchange(
  feed: 'file' | 'simulated',
  speed: number,
): Promise<RunningExchange> {
  const folder = await mkdtemp(join(tmpdir(), 'site-'));
  const prices = join(folder, 'prices.csv');
  await writePrices(prices);
  const { PATH = '' } = process.env;
  const env = {
    PATH,
    PORT: '0',
    DATA_FOLDER: join(folder, 'data'),
    ASSETS: 'BTC',
    LOG_LEVEL: 'warn',
    FAIR_USE: 'off',
    PASSWORD_COST_LOG2: '10',
    FEED_SPEED: `${speed}`,
    PRICE_FEED: feed === 'file' ? `file:${prices}` : feed,
  };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await addressOf(child);
  const ended = new Promise((resolve) => child.on('close', resolve));
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout!.on('data', (data) => {
      output += data;
      const found = /open at (\S+)\/api/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.on('close', () => reject(new Error(`the exchange ended: ${output}`)));
  });
}
