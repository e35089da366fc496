/**
 * The markets that trade now, and the shown one: the chosen asset's active market. When a market
 * ends, the page continues with the next one.
 */
import { computed, signal } from '@preact/signals';
import { toMicros } from '../../../client/amounts.js';
import { activeMarkets, limits, status } from '../../../client/index.js';
import type { Limits, Market } from '../../../client/types.js';
import { heard } from './clock.js';
import { publicApi } from './exchange.js';
import { route } from './route.js';
import { kept } from './settings.js';

/** A market with a start price. A market that never opened has none. */
export type Opened<Of extends Pick<Market, 'startPrice'> = Market> = Of & { startPrice: number };

export function hasOpened<Of extends Pick<Market, 'startPrice'>>(of: Of): of is Opened<Of> {
  return of.startPrice !== null;
}

/** By asset: the active market. */
export const active = signal<ReadonlyMap<string, Opened>>(new Map());
/** By asset: the last market that ended, resolved or not. */
export const ended = signal<ReadonlyMap<string, Opened>>(new Map());
/** Whether the exchange has sent its list of markets. */
export const areKnown = signal(false);

/** The source of prices; null: unknown. */
export const priceSource = signal<Limits['prices'] | null>(null);
/** A new account's play money; 0: none. */
export const startingMicros = signal(0);

/** All assets in the exchange's order. Before they are read: the assets with a market. */
export const assets = signal<readonly string[]>([]);
const remembered = kept<string>('asset', '');

export const asset = computed(() => {
  const { view, subject } = route.value;
  const known = assets.value;
  const named = view === 'market' ? subject.toUpperCase() : '';
  if (known.includes(named)) return named;
  return known.includes(remembered.value) ? remembered.value : (known[0] ?? '');
});

export const market = computed(() => active.value.get(asset.value) ?? null);
export const lastEnded = computed(() => ended.value.get(asset.value) ?? null);

/** How likely UP is in the shown market, derived from the asset's price. Not a quote. */
export const chance = signal<{ marketId: string; up: number } | null>(null);

/** Stores the chance that the exchange sends with a price or a market. */
export function noteChance(marketId: string | null, said: Market['indicative']): void {
  chance.value = marketId === null || said === null ? null : { marketId, up: said.UP };
}

export function remember(chosen: string): void {
  remembered.value = chosen;
}

/** Sets all active markets, from a read or the stream's snapshot. */
export function setActive(markets: readonly Market[]): void {
  const inOrder = [...new Set([...assets.value, ...markets.map((each) => each.asset)])];
  if (inOrder.length !== assets.value.length) assets.value = inOrder;
  active.value = new Map(markets.filter(hasOpened).map((each) => [each.asset, each]));
  areKnown.value = true;
}

/** Call when a market ends and when it is resolved. Ignores markets that never opened. */
export function setEnded(market: Market): void {
  if (!hasOpened(market)) return;
  const last = ended.value.get(market.asset);
  // An older market may be resolved late; the last one stays.
  if (last !== undefined && last.startsAtMs > market.startsAtMs) return;
  if (last?.id === market.id && last.resolution !== null) return;
  ended.value = new Map(ended.value).set(market.asset, market);
}

/** Reads the markets before the stream is connected, so that the page has a market early. */
export async function readActive(): Promise<void> {
  const { markets, serverTimeMs } = await activeMarkets(publicApi);
  heard(serverTimeMs);
  setActive(markets);
  // An asset may have no market now.
  const { prices } = await status(publicApi);
  assets.value = prices.map((each) => each.asset);
  const { prices: source, startingBalance } = await limits(publicApi);
  priceSource.value = source;
  startingMicros.value = toMicros(startingBalance);
}
