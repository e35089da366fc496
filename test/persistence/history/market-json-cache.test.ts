/**
 * The cache of decided markets' JSON holds a limited number of bytes and evicts the least recently
 * used text.
 */
import { expect, test } from 'vitest';
import { MarketJsonCache } from '../../../persistence/history/market-json/cache.js';

const partsOf = (bytes: number) => ({
  asset: 0,
  indicative: null,
  head: new Uint8Array(10),
  tail: new Uint8Array(bytes - 10),
  hash: new Uint8Array(32),
});

test('evicts what was not used recently when it is full', () => {
  const texts = new MarketJsonCache(1_000);
  for (let marketId = 1; marketId <= 10; marketId++) texts.add(marketId, partsOf(100));
  expect(texts.get(1)).toEqual(partsOf(100));
  texts.add(11, partsOf(150));
  // The first text was read again, so the eleventh evicted two others.
  const kept = Array.from({ length: 11 }, (_, i) => i + 1).filter(
    (id) => texts.get(id) !== undefined,
  );
  expect(kept).toEqual([1, 4, 5, 6, 7, 8, 9, 10, 11]);
});

test('does not keep a text larger than the cache, and reserves no room for it', () => {
  const texts = new MarketJsonCache(1_000);
  texts.add(1, partsOf(1_001));
  expect(texts.get(1)).toBeUndefined();
  for (let marketId = 2; marketId <= 11; marketId++) texts.add(marketId, partsOf(100));
  for (let marketId = 2; marketId <= 11; marketId++) expect(texts.get(marketId)).toBeDefined();
});
