/** Results of a market from the statement's entries. Tests the model without a browser. */
import { expect, test } from 'vitest';
import type { Position } from '../../../../gateway/client/index.js';
import { eventually } from '../../../support/eventually.js';
import { openPage } from './page.js';

const MARKET = 'eth-15m-1763600400';
const entry = (cause: string, available: number, outcome = 'UP', change = 0) => {
  return { cause, available, held: 0, shares: change === 0 ? null : { outcome, change } };
};
const LOST = [entry('claim', 0, 'DOWN', -20), entry('fee', -0.05), entry('fill', -10, 'DOWN', 20)];
openPage((address) => {
  if (address.includes('/session')) return { userId: 'u1', username: 'ada' };
  if (address.includes('/ledger')) return { entries: LOST, nextCursor: null, sequence: 9 };
  return { resolution: 'UP' };
});
const account = await import('../../../../gateway/site/app/model/account.js');
const { resumeSession } = await import('../../../../gateway/site/app/model/session.js');
const { markRead, settlementOf, unread } = await import(
  '../../../../gateway/site/app/results/settlements.js'
);

test.each([
  ['UP', [entry('fee', -0.05), entry('fill', -10, 'UP', 20)], 20_000_000, 9_950_000],
  ['UP', [entry('claim', 20, 'UP', -20), entry('fill', -10, 'UP', 20)], 20_000_000, 10_000_000],
  ['UP', LOST, 0, -10_050_000],
  ['VOID', [entry('fee', -0.05), entry('fill', -10, 'UP', 20)], 10_050_000, 0],
  // All shares were sold, and the fee was refunded.
  [
    'VOID',
    [
      entry('refund', 0.05),
      entry('fill', 9, 'UP', -20),
      entry('fee', -0.05),
      entry('fill', -10, 'UP', 20),
    ],
    50_000,
    -1_000_000,
  ],
  [
    'UP',
    [entry('fill', 6, 'UP', -10), entry('fee', -0.05), entry('fill', -10, 'UP', 20)],
    10_000_000,
    5_950_000,
  ],
] as const)(
  '%s: all that came in less all that was paid',
  (resolution, entries, payout, profit) => {
    const settled = settlementOf(
      resolution,
      entries as unknown as Parameters<typeof settlementOf>[1],
    );
    expect(settled).toMatchObject({ payoutMicros: payout, profitMicros: profit });
  },
);

test('a position that lost is told once it is gone, until it is read', async () => {
  await resumeSession(true);
  account.trueAt.value = 5;
  const position = { marketId: MARKET, outcome: 'DOWN', shares: 20, status: 'open' };
  account.positions.value = [position as Position];
  account.positions.value = [];
  await eventually(async () => unread.value.length === 1);
  expect(unread.value[0]).toMatchObject({
    marketId: MARKET,
    resolution: 'UP',
    sums: { lots: { UP: 0, DOWN: 20_000 }, profitMicros: -10_050_000 },
  });
  account.trueAt.value = 6;
  markRead(unread.value);
  expect(unread.value).toEqual([]);
});
