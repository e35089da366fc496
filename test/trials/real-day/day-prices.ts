/**
 * A day of real prices, and the start and end prices of its markets: the time-weighted average of
 * the last known price over the minute before, computed with big.js from the file alone.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Big } from 'big.js';
import type { ResolutionName } from './decimals.js';

export const DAY_FILE = fileURLToPath(
  new URL('../../data/btc-usd-2023-03-10.csv', import.meta.url),
);
export const DAY_START_MS = Date.UTC(2023, 2, 10);
export const DAY_MS = 86_400_000;
export const QUARTER_MS = 900_000;
const MINUTE_MS = 60_000;
const IN_FORCE_AT_MOST_MS = 120_000;

interface Tick {
  atMs: number;
  price: Big;
}

/** A market of the day, with its expected result. */
export interface ExpectedMarket {
  id: string;
  startsAtMs: number;
  startPrice: Big;
  /** The end price, or null if the market must be VOID. */
  endPrice: Big | null;
  resolution: ResolutionName;
}

function readTicks(): Tick[] {
  const [header, ...lines] = readFileSync(DAY_FILE, 'utf8').trimEnd().split('\n');
  if (header !== 'observedAtMs,asset,price')
    throw new Error(`${DAY_FILE} has another header: ${header}`);
  return lines.map((line) => {
    const [atMs, asset, price] = line.split(',');
    if (asset !== 'BTC') throw new Error(`${DAY_FILE} has a line that is not of BTC: ${line}`);
    return { atMs: Number(atMs), price: new Big(price!) };
  });
}

/** The average price of the minute before `atMs`, or null if no price is known for it. */
function averageBefore(ticks: readonly Tick[], atMs: number): Big | null {
  const fromMs = atMs - MINUTE_MS;
  let sum = new Big(0);
  let coveredMs = 0;
  ticks.forEach((tick, i) => {
    const untilMs = Math.min(ticks[i + 1]?.atMs ?? Number.POSITIVE_INFINITY, atMs);
    if (tick.atMs >= atMs || untilMs <= fromMs || tick.atMs < fromMs - IN_FORCE_AT_MOST_MS) return;
    const lastedMs = untilMs - Math.max(tick.atMs, fromMs);
    sum = sum.plus(tick.price.times(lastedMs));
    coveredMs += lastedMs;
  });
  return coveredMs === 0 ? null : sum.div(coveredMs).round(6, Big.roundDown);
}

/**
 * All markets of the day, and the next one, which opens in the day's last minute and has no price
 * at its end. The exchange starts with the first price, in the first window, whose market opens at
 * that price.
 */
export function expectedMarkets(): ExpectedMarket[] {
  const ticks = readTicks();
  const markets: ExpectedMarket[] = [];
  for (
    let startsAtMs = DAY_START_MS;
    startsAtMs <= DAY_START_MS + DAY_MS;
    startsAtMs += QUARTER_MS
  ) {
    const startPrice = averageBefore(ticks, startsAtMs) ?? ticks[0]!.price;
    const endPrice = averageBefore(ticks, startsAtMs + QUARTER_MS);
    const resolution = endPrice === null ? 'VOID' : endPrice.gte(startPrice) ? 'UP' : 'DOWN';
    const id = `btc-15m-${startsAtMs / 1_000}`;
    markets.push({ id, startsAtMs, startPrice, endPrice, resolution });
  }
  return markets;
}
