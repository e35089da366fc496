/** The reference price at its maximum. Random prices are in the differential test. */
import { describe, expect, test } from 'vitest';
import { MAX_ASSET_PRICE_MICROS, MAX_REMEMBERED_PRICES } from '../../engine/interface/limits.js';
import { Prices } from '../../engine/state/prices/prices.js';

const BOUNDARY_MS = 1_763_700_300_000;

describe('the reference price', () => {
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
});
