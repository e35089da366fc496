/** Fees in the cost of a user's shares, added up from the user's trades. */
import { expect, test } from 'vitest';
import type { Position } from '../../../../gateway/client/index.js';
import { eventually } from '../../../support/eventually.js';
import { openPage } from './page.js';

const BOUGHT = { outcome: 'UP', side: 'BUY', shares: 20, fee: 0.05 };
openPage(() => ({ trades: [BOUGHT], nextCursor: null, sequence: 9 }));
const { breakEvenTicks, feesOf } = await import('../../../../gateway/site/app/results/fees.js');
const { positions } = await import('../../../../gateway/site/app/model/account.js');

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

test('the break-even of UP includes the fee, and counts the shares of DOWN', async () => {
  const marketId = 'btc-15m-1763700300';
  const up = { marketId, outcome: 'UP', shares: 20, cost: 10, status: 'open' } as Position;
  const down: Position = { ...up, outcome: 'DOWN', shares: 5, cost: 2 };
  const breakEven = async (held: readonly Position[]) => {
    positions.value = held;
    await eventually(async () => breakEvenTicks(marketId) !== null);
    return breakEvenTicks(marketId);
  };
  expect(await breakEven([up])).toBe(502.5);
  // $12.05 is paid if UP has a chance of 47%: 20 × 0.47 + 5 × 0.53.
  expect(await breakEven([up, down])).toBe(470);
  positions.value = [up, { ...down, shares: 20 }];
  expect(breakEvenTicks(marketId)).toBe(null);
});
