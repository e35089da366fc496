/** The fees in the cost of one's shares, added up from one's trades. */
import { expect, test } from 'vitest';
import { openPage } from './page.js';

openPage(() => ({}));
const { feesOf } = await import('../../../../gateway/site/app/account/fees.js');

const trade = (side: 'BUY' | 'SELL', outcome: 'UP' | 'DOWN', shares: number, fee: number) => {
  return { side, outcome, shares, fee };
};

test('a purchase adds its fee, and a sale takes off the part of what it sells', () => {
  const trades = [
    trade('BUY', 'UP', 20, 0.05),
    trade('BUY', 'DOWN', 5, 0.010_001),
    trade('SELL', 'UP', 5, 0),
    trade('BUY', 'UP', 10, 0),
    trade('SELL', 'DOWN', 5, 0),
    trade('BUY', 'DOWN', 1, 0.000_002),
  ];
  expect(feesOf(trades.slice(0, 3))).toEqual({ UP: 37_500, DOWN: 10_001 });
  expect(feesOf(trades)).toEqual({ UP: 37_500, DOWN: 2 });
});
