/** Fees in the cost of a user's shares, added up from the user's trades. */
import { expect, test } from 'vitest';
import { openPage } from './page.js';

openPage(() => ({}));
const { feesOf } = await import('../../../../gateway/site/app/results/fees.js');

const trade = (side: 'BUY' | 'SELL', outcome: 'UP' | 'DOWN', shares: number, fee: number) => {
  return { side, outcome, shares, fee };
};

test('a purchase adds its fee, and what is sold or merged takes its part off', () => {
  const trades = [
    trade('BUY', 'UP', 20, 0.05),
    trade('BUY', 'DOWN', 5, 0.010_001),
    trade('SELL', 'UP', 5, 0),
    trade('BUY', 'UP', 10, 0),
    trade('SELL', 'DOWN', 5, 0),
    trade('BUY', 'DOWN', 1, 0.000_002),
  ];
  const own = { UP: 15_000, DOWN: 5_000 };
  expect(feesOf(trades.slice(0, 3), own)).toEqual({ UP: 37_500, DOWN: 10_001 });
  expect(feesOf(trades, { UP: 25_000, DOWN: 1_000 })).toEqual({ UP: 37_500, DOWN: 2 });
  expect(feesOf(trades.slice(0, 3), { UP: 10_000, DOWN: 0 })).toEqual({ UP: 25_000, DOWN: 0 });
});
