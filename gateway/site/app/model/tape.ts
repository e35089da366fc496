/** The newest public trades of the shown market, newest first. */
import { computed, signal } from '@preact/signals';
import { marketTrades, toLots, toTicks } from '../../../client/index.js';
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

const KEPT = 40;

let marketId = '';
let newest: TapeTrade[] = [];
const shown = signal<{ marketId: string; trades: readonly TapeTrade[] }>({
  marketId: '',
  trades: [],
});

export const tape = computed(() => {
  const { marketId: of, trades } = shown.value;
  return of === market.value?.id ? trades : [];
});

/** Starts a market's tape with its earlier trades, or adds missing ones. */
export async function readTape(of: string): Promise<void> {
  if (marketId !== of) newest = [];
  marketId = of;
  beforePaint(show);
  const { trades } = await marketTrades(publicApi, of, { limit: KEPT });
  if (marketId === of) merge(trades);
}

export function observeTrades(of: string, trades: readonly PublicTrade[]): void {
  if (of === marketId) merge([...trades].reverse());
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
  shown.value = { marketId, trades: newest };
}
