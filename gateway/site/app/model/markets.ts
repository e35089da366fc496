/**
 * The markets that trade now, and which of them is shown: the active one of the chosen asset, so
 * the page goes on to the next market by itself when one ends.
 */
import { computed, signal } from '@preact/signals';
import { toMicros } from '../../../client/amounts.js';
import { activeMarkets, limits, status } from '../../../client/index.js';
import type { Limits, Market } from '../../../client/types.js';
import { heard } from './clock.js';
import { publicApi } from './exchange.js';
import { route } from './route.js';
import { kept } from './settings.js';

/** A market with a start price; one that never opened has none. */
export type Opened<Of extends Pick<Market, 'startPrice'> = Market> = Of & { startPrice: number };

export function hasOpened<Of extends Pick<Market, 'startPrice'>>(of: Of): of is Opened<Of> {
  return of.startPrice !== null;
}

/** By asset: the market that trades now. */
export const active = signal<ReadonlyMap<string, Opened>>(new Map());
/** By asset: the last market that ended, resolved or not. */
export const ended = signal<ReadonlyMap<string, Opened>>(new Map());
/** Whether the exchange has said which markets there are. */
export const areKnown = signal(false);

/** Where prices come from; null: not known yet. */
export const priceSource = signal<Limits['prices'] | null>(null);
/** The play money of a new account; 0: none. */
export const startingMicros = signal(0);

/** Every asset, in the exchange's order; before they are read, those that have a market. */
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

/** How likely UP is in the market that is shown, by the price of its asset; it is no quote. */
export const chance = signal<{ marketId: string; up: number } | null>(null);

/** What the exchange says with a price, or with a market. */
export function noteChance(marketId: string | null, said: Market['indicative']): void {
  chance.value = marketId === null || said === null ? null : { marketId, up: said.UP };
}

export function remember(chosen: string): void {
  remembered.value = chosen;
}

/** All active markets, as read or as the stream's snapshot has them. */
export function setActive(markets: readonly Market[]): void {
  const inOrder = [...new Set([...assets.value, ...markets.map((each) => each.asset)])];
  if (inOrder.length !== assets.value.length) assets.value = inOrder;
  active.value = new Map(markets.filter(hasOpened).map((each) => [each.asset, each]));
  areKnown.value = true;
}

/** A market that has ended, and again when it is resolved. One that never opened is no result. */
export function setEnded(market: Market): void {
  if (!hasOpened(market)) return;
  const last = ended.value.get(market.asset);
  // A market of long ago may be resolved late; the last one is what is shown.
  if (last !== undefined && last.startsAtMs > market.startsAtMs) return;
  if (last?.id === market.id && last.resolution !== null) return;
  ended.value = new Map(ended.value).set(market.asset, market);
}

/** Before the stream is there, so that the page has a market at once. */
export async function readActive(): Promise<void> {
  const { markets, serverTimeMs } = await activeMarkets(publicApi);
  heard(serverTimeMs);
  setActive(markets);
  // An asset need not have a market now.
  const { prices } = await status(publicApi);
  assets.value = prices.map((each) => each.asset);
  const { prices: source, startingBalance } = await limits(publicApi);
  priceSource.value = source;
  startingMicros.value = toMicros(startingBalance);
}
