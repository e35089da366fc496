/**
 * The markets that trade, and the shown one: the chosen asset's active market, or one of the next
 * windows, which already take orders. When a market ends, the page continues with the next one.
 */
import { batch, computed, signal } from '@preact/signals';
import {
  activeMarkets,
  type Limits,
  limits,
  type Market,
  status,
  toMicros,
} from '../../../client/index.js';
import { heard } from './clock.js';
import { publicApi } from './exchange.js';
import { route } from './route.js';
import { kept } from './settings.js';

/** A market with a start price. A market that never opened does not have one. */
export type Opened<Of extends Pick<Market, 'startPrice'> = Market> = Of & { startPrice: number };

export function hasOpened<Of extends Pick<Market, 'startPrice'>>(of: Of): of is Opened<Of> {
  return of.startPrice !== null;
}

export const active = signal<ReadonlyMap<string, Opened>>(new Map());
/** The markets of the next windows by asset, nearest first. */
export const upcoming = signal<ReadonlyMap<string, readonly Market[]>>(new Map());
/** The last market that ended, resolved or not, by asset. */
export const ended = signal<ReadonlyMap<string, Opened>>(new Map());
export const areKnown = signal(false);

export const priceSource = signal<Limits['prices'] | null>(null);
/** A new account's play money; 0 for none. */
export const startingMicros = signal(0);
/** Whether an account with little left may have it again. */
export const mayStartAgain = signal(false);

/** All assets in the exchange's order; until they are read, the assets with a market. */
export const assets = signal<readonly string[]>([]);
const remembered = kept<string>('asset', '');

export const asset = computed(() => {
  const { view, subject } = route.value;
  const known = assets.value;
  const named = view === 'market' ? subject.toUpperCase() : '';
  if (known.includes(named)) return named;
  return known.includes(remembered.value) ? remembered.value : (known[0] ?? '');
});

/** The chosen asset's active market; `null` between two markets. */
export const current = computed(() => active.value.get(asset.value) ?? null);
/** The chosen asset's markets: the active one first, then the next windows. */
export const listed = computed<readonly Market[]>(() => {
  const next = upcoming.value.get(asset.value) ?? [];
  return current.value === null ? next : [current.value, ...next];
});
/** The id of the window that the user chose. While it is not listed, the first one is shown. */
const chosen = signal('');

export const market = computed<Market | null>(
  () => listed.value.find(({ id }) => id === chosen.value) ?? listed.value[0] ?? null,
);

export function chooseWindow(id: string): void {
  chosen.value = id;
}

export function isListed(id: string): boolean {
  const has = (of: readonly Market[]) => of.some((each) => each.id === id);
  return has([...active.value.values()]) || [...upcoming.value.values()].some(has);
}

export const lastEnded = computed(() => ended.value.get(asset.value) ?? null);

/** The probability of UP in the shown market, derived from the asset's price. Not a quote. */
export const chance = signal<{ marketId: string; up: number } | null>(null);

export function noteChance(marketId: string | null, said: Market['indicative']): void {
  chance.value = marketId === null || said === null ? null : { marketId, up: said.UP };
}

export function remember(name: string): void {
  remembered.value = name;
}

export function setListed(markets: readonly Market[], next: readonly Market[] = []): void {
  const inOrder = [
    ...new Set([...assets.value, ...[...markets, ...next].map((each) => each.asset)]),
  ];
  const nearestFirst = [...next].sort((one, other) => one.startsAtMs - other.startsAtMs);
  batch(() => {
    if (inOrder.length !== assets.value.length) assets.value = inOrder;
    active.value = new Map(markets.filter(hasOpened).map((each) => [each.asset, each]));
    upcoming.value = new Map(
      inOrder.map((name) => [name, nearestFirst.filter((each) => each.asset === name)]),
    );
    areKnown.value = true;
  });
}

/** Call when a market ends and when it is resolved. Ignores markets that never opened. */
export function setEnded(market: Market): void {
  if (!hasOpened(market)) return;
  const last = ended.value.get(market.asset);
  // An older market may be resolved late, so the last one stays.
  if (last !== undefined && last.startsAtMs > market.startsAtMs) return;
  if (last?.id === market.id && last.resolution !== null) return;
  ended.value = new Map(ended.value).set(market.asset, market);
}

/** Reads the markets before the stream is connected, so that the page has a market early. */
export async function readActive(): Promise<void> {
  const { markets, serverTimeMs } = await activeMarkets(publicApi);
  heard(serverTimeMs);
  setListed(markets);
  // An asset may currently have no market.
  const { prices } = await status(publicApi);
  assets.value = prices.map((each) => each.asset);
  const { prices: source, startingBalance, startAgain } = await limits(publicApi);
  priceSource.value = source;
  startingMicros.value = toMicros(startingBalance);
  mayStartAgain.value = startAgain;
}
