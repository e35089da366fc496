/** The public trades of the shown market: the newest ones, newest first, and the sum of all. */
import { computed, signal } from '@preact/signals';
import {
  marketTrades,
  market as readMarket,
  toLots,
  toMicros,
  toTicks,
} from '../../../client/index.js';
import type { OutcomeName } from './book.js';
import { publicApi } from './exchange.js';
import { beforePaint } from './frame.js';
import { market } from './markets.js';

interface TapeTrade {
  tradeId: string;
  outcome: OutcomeName;
  side: 'BUY' | 'SELL';
  ticks: number;
  lots: number;
  atMs: number;
}

type PublicTrade = Omit<TapeTrade, 'ticks' | 'lots'> & { price: number; shares: number };

interface Traded {
  sequence: number;
  micros: number;
}

const KEPT = 40;

let marketId = '';
let newest: TapeTrade[] = [];
let reads = 0;
/** The value of all trades up to a sequence; `null` while being read. */
let traded: Traded | null = null;
/** Trades that arrived during the read. */
let meanwhile: Traded[] = [];
const nothing = { marketId: '', trades: [] as readonly TapeTrade[], volume: null as number | null };
const shown = signal(nothing);

const ofMarket = computed(() =>
  shown.value.marketId === market.value?.id ? shown.value : nothing,
);
export const tape = computed(() => ofMarket.value.trades);
/** The value of all trades in micro-dollars; `null` while unknown. */
export const volume = computed(() => ofMarket.value.volume);

/** Starts a market's tape with its earlier trades, or adds missing ones. */
export async function readTape(of: string): Promise<void> {
  if (marketId !== of) newest = [];
  marketId = of;
  traded = null;
  meanwhile = [];
  beforePaint(show);
  const read = ++reads;
  const [{ sequence, volume: dollars }, { trades }] = await Promise.all([
    readMarket(publicApi, of),
    marketTrades(publicApi, of, { limit: KEPT }),
  ]);
  if (read !== reads) return;
  traded = { sequence, micros: toMicros(dollars) };
  for (const each of meanwhile) add(each);
  merge(trades);
}

/** `sequence` belongs to the command that caused the trades. */
export function observeTrades(of: string, trades: readonly PublicTrade[], sequence: number): void {
  if (of !== marketId) return;
  const values = trades.map(({ price, shares }) => toTicks(price) * toLots(shares));
  add({ sequence, micros: values.reduce((sum, value) => sum + value, 0) });
  merge([...trades].reverse());
}

function add(later: Traded): void {
  if (traded === null) meanwhile.push(later);
  else if (later.sequence > traded.sequence)
    traded = { sequence: later.sequence, micros: traded.micros + later.micros };
}

function merge(trades: readonly PublicTrade[]): void {
  const known = new Set(newest.map(({ tradeId }) => tradeId));
  const added = trades
    .filter(({ tradeId }) => !known.has(tradeId))
    .map(({ tradeId, outcome, side, price, shares, atMs }) => {
      return { tradeId, outcome, side, ticks: toTicks(price), lots: toLots(shares), atMs };
    });
  newest = [...newest, ...added].sort((one, other) => numberOf(other) - numberOf(one));
  newest.length = Math.min(newest.length, KEPT);
  beforePaint(show);
}

function numberOf({ tradeId }: TapeTrade): number {
  return Number(tradeId.slice(1));
}

function show(): void {
  shown.value = { marketId, trades: newest, volume: traded?.micros ?? null };
}
