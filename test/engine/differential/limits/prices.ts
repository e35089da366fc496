/** Scripts about assets, their remembered prices, and the sources of prices. */
import { Code } from '../../../../engine/interface/codes.js';
import type { Command, CommandOf } from '../../../../engine/interface/commands.js';
import { WINDOW_MS } from '../../../../engine/interface/domain.js';
import {
  MAX_ASSET_PRICE_MICROS,
  MAX_ASSETS,
  MAX_PRICE_SOURCES,
  MAX_REMEMBERED_PRICES,
} from '../../../../engine/interface/limits.js';
import type { Duel } from '../duel.js';
import {
  LIMIT_REACHED,
  type LimitPlay,
  OK,
  openMarket,
  type Play,
  START_MS,
  STATE,
} from './script.js';

function* assets(): Play {
  for (let i = 0; i < MAX_ASSETS; i++) yield [{ kind: 'listAsset', symbol: `A${i}` }, OK, START_MS];
  yield [{ kind: 'listAsset', symbol: 'ONEMORE' }, LIMIT_REACHED];
  yield [{ kind: 'listAsset', symbol: 'A63' }];
}

/** As many of the highest prices as the engine remembers decide a market without an overflow. */
function* prices(duel: Duel): Play {
  const fromMs = START_MS + WINDOW_MS - MAX_REMEMBERED_PRICES;
  yield [{ kind: 'listAsset', symbol: 'BTC' }, OK, fromMs];
  const observed = (atMs: number): CommandOf<'observePrice'> => ({
    kind: 'observePrice',
    asset: 0,
    priceMicros: MAX_ASSET_PRICE_MICROS - 37 * (atMs % 1_000),
    observedAtMs: atMs,
  });
  for (let atMs = fromMs; atMs < START_MS + WINDOW_MS; atMs++) yield [observed(atMs), OK, atMs];
  yield STATE;
  const fullMs = duel.naive.nowMs;
  yield [observed(fullMs), LIMIT_REACHED];
  const ofSource = { kind: 'observeSourcePrice' as const, source: 'kraken' };
  yield [{ ...observed(fullMs), ...ofSource }, LIMIT_REACHED];
  // A full store is reported before a price that is too old.
  yield [observed(fullMs - 300_001), LIMIT_REACHED];
  yield [observed(fullMs + 600_000), OK, fullMs + 600_000];
  yield STATE;
  const decided = duel.naive.events.find(({ type }) => type === 'marketResolved');
  if (decided === undefined) throw new Error('no market was decided');
}

/**
 * Sources that are stale or fresh, even numbers of them, and the price guard to the millisecond.
 */
function* priceSources(duel: Duel): Play {
  yield* openMarket(1);
  const tick = (source: string, dollars: number, observedAtMs: number): Command => {
    const priceMicros = dollars * 1_000_000;
    return { kind: 'observeSourcePrice', asset: 0, priceMicros, observedAtMs, source };
  };
  const at = (ms: number) => START_MS + ms;
  yield [{ kind: 'listAsset', symbol: 'ETH' }];
  yield [{ ...tick('first', 3_000, at(0)), asset: 1 } as Command];
  for (let i = 0; i < MAX_PRICE_SOURCES; i++) yield [tick(`s${i}`, 90_000 + 7 * i, at(0))];
  yield [tick('one-more', 90_000, at(0)), LIMIT_REACHED];
  yield [tick('s3', 90_000, at(0)), OK, at(15_000)];
  yield [tick('s3', 90_000, at(0)), Code.price_too_old, at(15_001)];
  yield [tick('a', 90_000, at(15_000))];
  yield [tick('a', 90_000, at(14_999)), Code.price_too_old];
  yield STATE;
  // Two sources disagree: the price near the last one counts, above or below it.
  yield [tick('b', 900_000, at(15_000))];
  yield [tick('b', 9_000, at(15_001))];
  yield [tick('b', 112_500, at(15_001))];
  if (duel.naive.assetPriceMicros(0) !== 101_250_000_000) throw new Error('not the mean');
  // A single source's price is confirmed after half a minute, not before.
  const held = () => duel.naive.events.some((event) => event.type === 'priceHeld');
  const shown = () => duel.engine.heldPrice(0) !== null;
  for (const [ms, isHeld] of [
    [40_000, true],
    [69_999, true],
    [70_000, false],
  ] as const) {
    yield [tick('b', 900_000, at(ms)), OK, at(ms)];
    if (held() !== isHeld || shown() !== isHeld) throw new Error(`held at ${ms}: ${held()}`);
    yield STATE;
  }
  // Half a minute without prices confirms nothing.
  for (const [ms, isHeld] of [
    [80_000, true],
    [200_000, true],
    [200_000, false],
  ] as const) {
    yield [tick('b', 90_000, at(ms)), OK, at(ms)];
    if (held() !== isHeld) throw new Error(`held at ${ms}: ${held()}`);
  }
}

export const PRICE_PLAYS: LimitPlay[] = [
  { name: 'assets', play: assets },
  { name: 'remembered prices of an asset', play: prices },
  { name: 'sources of prices, and the guard', play: priceSources },
];
