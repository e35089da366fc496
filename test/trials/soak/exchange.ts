/**
 * The exchange under soak: the built program in its own process, synchronous=FULL, made-up prices.
 *
 * Its time runs faster than real time. At {@link STANDARD_SPEED} times, a market lasts three
 * seconds, an idempotency key expires after twelve seconds, and unclaimed winnings are paid after
 * nearly five minutes. So everything that expires, even after a day, has expired in the first half
 * of ten minutes.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOST } from '../../../bench/http/load/messages.js';
import { ExchangeProcess } from '../../../bench/measure/exchange-process.js';
import { normalRandom, uniformRandom } from '../../../gateway/inputs/feeds/random.js';

export const STANDARD_SPEED = 300;
export const ASSETS = ['BTC', 'ETH', 'SOL'] as const;
const STARTING_BALANCE = 1_000_000;

const FIRST_PRICE_MS = 1_763_700_300_000;
/** Exchange time between two prices of an asset: 15 a second at the standard speed. */
const PRICE_EVERY_MS = 20_000;
const START_DOLLARS = 100;
/** The standard deviation of one step of the price's logarithm. */
const STEP = 0.0004;
/** High enough that fair use refuses nothing: the load comes from one address. */
const UNLIMITED = '1000000/1000000';

export interface LogLine {
  isError: boolean;
  /** The message without its fields. */
  message: string;
  text: string;
}

export interface ExchangeOptions {
  /** Holds the data, the prices and the log. */
  folder: string;
  seed: string;
  /** How many times as fast as real time. */
  speed: number;
  /** Real time for which there are prices. */
  minutes: number;
}

export function startExchange(options: ExchangeOptions): Promise<ExchangeProcess> {
  return ExchangeProcess.start({
    environment: environment(options),
    logFile: join(options.folder, 'log.ndjson'),
    nodeOptions: ['--enable-source-maps'],
  });
}

export function logLines(log: string): LogLine[] {
  const lines = log.split('\n').filter(Boolean);
  return lines.map((text) => {
    // A line that is not JSON comes from the runtime and is an error.
    if (!text.startsWith('{')) return { isError: true, message: text, text };
    const { level, msg: message } = JSON.parse(text);
    return { isError: level === 'error' || level === 'fatal', message, text };
  });
}

export function dataFolder(folder: string): string {
  return join(folder, 'data');
}

/** The environment variables of an exchange under soak. Writes its price file. */
export function environment(options: ExchangeOptions) {
  const { folder, speed } = options;
  return {
    PORT: '0',
    HOST,
    DATA_FOLDER: dataFolder(folder),
    ASSETS: ASSETS.join(','),
    PRICE_FEED: `file:${writePrices(options)}`,
    FEED_SPEED: `${speed}`,
    STARTING_BALANCE: `${STARTING_BALANCE}`,
    HOUSE_FUNDS: '10000000',
    PASSWORD_COST_LOG2: '10',
    ORDERS_PER_USER: UNLIMITED,
    ORDERS_PER_ADDRESS: UNLIMITED,
    CANCELS_PER_USER: UNLIMITED,
    CANCELS_PER_ADDRESS: UNLIMITED,
    READS_PER_USER: UNLIMITED,
    READS_PER_ADDRESS: UNLIMITED,
    SIGN_INS_PER_USER: UNLIMITED,
    SIGN_INS_PER_ADDRESS: UNLIMITED,
    CONNECTIONS_PER_ADDRESS: '0',
    LOG_LEVEL: 'warn',
  };
}

function writePrices({ folder, seed, speed, minutes }: ExchangeOptions): string {
  const path = join(folder, 'prices.csv');
  const normal = normalRandom(uniformRandom(`${seed}:prices`));
  const logs = ASSETS.map(() => Math.log(START_DOLLARS));
  const lines = ['observedAtMs,asset,price'];
  const endMs = FIRST_PRICE_MS + minutes * 60_000 * speed;
  for (let atMs = FIRST_PRICE_MS; atMs < endMs; atMs += PRICE_EVERY_MS) {
    for (const [i, asset] of ASSETS.entries()) {
      logs[i]! += STEP * normal();
      lines.push(`${atMs},${asset},${Math.exp(logs[i]!).toFixed(2)}`);
    }
  }
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}
