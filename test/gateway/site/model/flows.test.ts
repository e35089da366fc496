/** Profit per market from the statement's entries. Tests the model without a browser. */
import { expect, test } from 'vitest';
import { openPage } from './page.js';

const [TRADED, ORDERED] = ['btc-15m-1763700300', 'btc-15m-1763701200'];
const entry = (marketId: string | null, available: number, held = 0) => {
  return { marketId, available, held };
};
const ENTRIES = [
  entry(ORDERED, 3, -3),
  entry(ORDERED, -3, 3),
  entry(TRADED, 20),
  entry(TRADED, -0.05),
  entry(TRADED, 0, -10),
  entry(TRADED, -10, 10),
  entry(null, 10_000),
];
openPage(() => ({ entries: ENTRIES, nextCursor: null, sequence: 9 }));
const { readFlows } = await import('../../../../gateway/site/app/results/flows.js');

test('a market brings what came in less what was paid; one with an order alone is none', async () => {
  expect([...(await readFlows('u1', {}))!]).toEqual([[TRADED, 9_950_000]]);
});
