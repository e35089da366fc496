/** The shown day's quarter hours, each with its market and result. */
import { batch, computed, signal } from '@preact/signals';
import { type Market, markets as readMarkets } from '../../../client/index.js';
import { startOfToday, startOfTomorrow } from '../parts/format.js';
import { now } from './clock.js';
import { publicApi } from './exchange.js';
import { asset, current, setEnded } from './markets.js';

export const SLOT_MS = 15 * 60_000;
/** The longest day has 25 hours, 100 markets. */
const DAY_MS = 25 * 60 * 60_000;
/** Markets to read, including the four upcoming ones, which come first. */
const READ_MAX = DAY_MS / SLOT_MS + 4;

export interface Slot {
  startsAtMs: number;
  /** `none`: there is no market, at least not yet. */
  state: 'none' | 'future' | 'active' | 'ended' | 'UP' | 'DOWN' | 'VOID';
  marketId: string | null;
}

/** Start of the user's day, by the exchange's clock; 0 while unknown. */
export const today = computed(() => startOfToday(current.value?.startsAtMs ?? now.value));

const past = signal<{ asset: string; markets: ReadonlyMap<number, Market> }>({
  asset: '',
  markets: new Map(),
});

const known = computed<ReadonlyMap<number, Market>>(() =>
  past.value.asset === asset.value ? past.value.markets : new Map(),
);

export const slots = computed<readonly Slot[]>(() => {
  const fromMs = today.value;
  if (fromMs === 0) return [];
  const trading = current.value;
  const ofStart = (startsAtMs: number) => {
    if (trading?.startsAtMs === startsAtMs) return trading;
    return known.value.get(startsAtMs) ?? null;
  };
  // Without an active market, the future begins now.
  const futureFromMs = trading?.endsAtMs ?? now.peek();
  const count = (startOfTomorrow(fromMs) - fromMs) / SLOT_MS;
  return Array.from({ length: count }, (_, index) => {
    const startsAtMs = fromMs + index * SLOT_MS;
    const of = ofStart(startsAtMs);
    return { startsAtMs, marketId: of?.id ?? null, state: stateOf(of, startsAtMs >= futureFromMs) };
  });
});

const RESULTS = 12;

export const results = computed<readonly Market[]>(() =>
  [...known.value.values()]
    .filter(({ resolution }) => resolution !== null)
    .sort((one, other) => other.startsAtMs - one.startsAtMs)
    .slice(0, RESULTS),
);

function stateOf(of: Market | null, isFuture: boolean): Slot['state'] {
  if (of === null) return isFuture ? 'future' : 'none';
  if (of.status === 'active') return 'active';
  return of.resolution ?? 'ended';
}

/** Reads a day's markets, which fit on one page. */
export async function readSlots(of: string): Promise<void> {
  if (past.peek().asset !== of) past.value = { asset: of, markets: new Map() };
  const { markets } = await readMarkets(publicApi, { asset: of, limit: READ_MAX });
  batch(() => {
    for (const each of markets)
      if (each.status === 'ended' || each.status === 'resolved') noteEnded(each);
  });
}

/** Call when a market ends and when it is resolved. */
export function noteEnded(market: Market): void {
  const { asset: of, markets } = past.peek();
  setEnded(market);
  if (market.asset !== of || markets.get(market.startsAtMs)?.resolution) return;
  const oldestMs = market.startsAtMs - DAY_MS;
  const kept = [...markets].filter(([startsAtMs]) => startsAtMs > oldestMs);
  past.value = { asset: of, markets: new Map(kept).set(market.startsAtMs, market) };
}
