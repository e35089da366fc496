/**
 * The reference price against its definition in exact decimals: random prices, some of them late,
 * up to the greatest possible price, checked again after each.
 */
import { describe, expect, test } from 'vitest';
import { Random } from '../../bench/workload/random.js';
import { MAX_ASSET_PRICE_MICROS, MAX_REMEMBERED_PRICES } from '../../engine/interface/limits.js';
import { Prices } from '../../engine/state/prices/prices.js';
import { dollars, micros } from '../support/naive-engine/decimal.js';
import { referencePrice } from '../support/naive-engine/prices.js';
import type { NaiveAsset, NaivePrice } from '../support/naive-engine/state.js';

const BOUNDARY_MS = 1_763_700_300_000;

function naiveAsset(prices: NaivePrice[]): NaiveAsset {
  const times = { firstBoundaryMs: 0, nextBoundaryMs: 0, waitingSinceMs: null };
  return { symbol: 'BTC', prices, sources: [], held: [], ...times };
}

describe('the reference price', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'of random prices matches its definition, seed %i',
    (seed) => {
      const random = new Random(`${seed}`);
      const prices = new Prices();
      prices.add('BTC');
      const observed: NaivePrice[] = [];
      // Dense or sparse, before and after the boundary, many at the edges of the minute and of the
      // two minutes before it.
      const spanMs = random.pick([2_000, 90_000, 400_000]);
      for (let i = 0; i < 60; i++) {
        const atEdge = random.pick([
          0, 1, -1, -60_000, -59_999, -60_001, -180_000, -179_999, -180_001,
        ]);
        const observedAtMs =
          BOUNDARY_MS + (random.chance(0.2) ? atEdge : random.whole(-spanMs, 3_000));
        const priceMicros = random.pick([
          1,
          MAX_ASSET_PRICE_MICROS,
          random.magnitude(MAX_ASSET_PRICE_MICROS),
        ]);
        prices.insert(0, observedAtMs, priceMicros);
        const place = observed.findLastIndex((price) => price.observedAtMs <= observedAtMs) + 1;
        observed.splice(place, 0, { observedAtMs, price: dollars(priceMicros) });
        const expected = referencePrice(naiveAsset(observed), BOUNDARY_MS);
        expect(prices.reference(0, BOUNDARY_MS)).toBe(expected === null ? null : micros(expected));
      }
    },
  );

  test('does not overflow with a full store of the greatest price', () => {
    const prices = new Prices();
    prices.add('BTC');
    for (let i = 0; i < MAX_REMEMBERED_PRICES; i++) {
      prices.insert(
        0,
        BOUNDARY_MS - 60_000 + Math.floor((i * 60_000) / MAX_REMEMBERED_PRICES),
        MAX_ASSET_PRICE_MICROS,
      );
    }
    expect(prices.isFull(0)).toBe(true);
    expect(prices.reference(0, BOUNDARY_MS)).toBe(MAX_ASSET_PRICE_MICROS);
  });

  test('is computed for the requested time', () => {
    const prices = new Prices();
    prices.add('BTC');
    prices.insert(0, BOUNDARY_MS, 5);
    expect(prices.reference(0, BOUNDARY_MS)).toBeNull();
    expect(prices.reference(0, BOUNDARY_MS + 1)).toBe(5);
    expect(prices.reference(0, BOUNDARY_MS)).toBeNull();
    prices.insert(0, BOUNDARY_MS - 1, 7);
    expect(prices.reference(0, BOUNDARY_MS)).toBe(7);
    expect(prices.reference(0, BOUNDARY_MS + 1)).toBe(6);
  });
});
