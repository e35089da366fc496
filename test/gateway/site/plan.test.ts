/**
 * The ticket's forecast equals the exchange's result: random orders against random books, compared
 * with the receipt to the micro-dollar.
 */
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { toLots, toMicros, toTicks } from '../../../gateway/client/amounts.js';
import {
  averageMicros,
  neededMicros,
  type PlannedOrder,
  planOrder,
} from '../../../gateway/site/app/ticket/plan.js';
import { ANY_SIZE_RESTS } from '../../support/engine-support.js';
import { MARKET, TestServer } from '../../support/server.js';

const server = await TestServer.withMarket({ startingBalanceMicros: 100_000_000_000 });
const maker = await server.register('maker');
const taker = await server.register('taker');
afterAll(() => server.stop());

function setFee(takerFeeBasisPoints: number, curveFeeBasisPoints: number): void {
  server.submit({ ...ANY_SIZE_RESTS, ruleSet: 3, takerFeeBasisPoints, curveFeeBasisPoints });
}

const ORDERS = `/markets/15m/${MARKET}`;
const offer = fc.record({
  ticks: fc.integer({ min: 1, max: 999 }),
  lots: fc.integer({ min: 1, max: 5_000 }),
});
const terms = fc.constantFrom('IOC', 'FOK', 'GTC') as fc.Arbitrary<'IOC' | 'FOK' | 'GTC'>;
const buy = fc.record({
  budgetMicros: fc.option(fc.integer({ min: 1, max: 3_000_000 })),
  lots: fc.integer({ min: 1, max: 12_000 }),
  limitTicks: fc.option(fc.integer({ min: 1, max: 999 })),
  timeInForce: terms,
  postOnly: fc.boolean(),
});

/** Builds the order as the ticket does: with a limit where the terms or the unit need one. */
function orderOf(made: typeof buy extends fc.Arbitrary<infer Order> ? Order : never): PlannedOrder {
  const needsLimit = made.budgetMicros === null || made.timeInForce === 'GTC';
  const limitTicks = needsLimit ? (made.limitTicks ?? 500) : made.limitTicks;
  const lots = made.budgetMicros === null ? made.lots : null;
  const postOnly = made.postOnly && made.timeInForce === 'GTC';
  return { ...made, side: 'BUY', lots, limitTicks, postOnly };
}

const REFUSALS: Record<string, readonly string[]> = {
  empty: ['insufficient_liquidity', 'price_not_met'],
  too_small: ['amount_too_small'],
  not_filled: ['price_not_met', 'insufficient_liquidity'],
  would_trade: ['post_only_would_trade'],
};

test.each([
  [50, 0],
  [137, 700],
])(
  'a plan of a purchase is its receipt, fee of %i basis points, curve of %i',
  async (flat, curve) => {
    setFee(flat, curve);
    await fc.assert(
      fc.asyncProperty(fc.array(offer, { maxLength: 6 }), buy, async (offers, made) => {
        for (const { ticks, lots } of offers) {
          // An offer of UP at p is a purchase of DOWN at 1 - p.
          const body = { outcome: 'DOWN', shares: lots / 1_000, price: (1_000 - ticks) / 1_000 };
          await server.api.post(`${ORDERS}/buy`, { ...body, timeInForce: 'GTC' }, maker.token);
        }
        const { json: book } = await server.api.get(`${ORDERS}/orderbook?depth=999`);
        const levels = book.UP.asks.map(({ price, shares }: { price: number; shares: number }) => {
          return { priceTicks: toTicks(price), lots: toLots(shares) };
        });
        const order = orderOf(made);
        const plan = planOrder(order, levels, { flat, curve });
        const body = {
          outcome: 'UP',
          timeInForce: order.timeInForce,
          ...(order.lots === null
            ? { amount: order.budgetMicros! / 1e6 }
            : { shares: order.lots / 1e3 }),
          ...(order.limitTicks === null ? {} : { price: order.limitTicks / 1e3 }),
          ...(order.postOnly ? { postOnly: true } : {}),
        };
        const { status, json } = await server.api.post(`${ORDERS}/buy`, body, taker.token);
        await server.api.delete(`${ORDERS}/orders`, maker.token);
        await server.api.delete(`${ORDERS}/orders`, taker.token);
        if (plan.refusal !== null) {
          expect(REFUSALS[plan.refusal]).toContain(json.error?.code);
          return;
        }
        expect(status, JSON.stringify(json)).toBe(200);
        expect({
          lots: plan.lots,
          value: plan.valueMicros,
          fee: plan.feeMicros,
          average: averageMicros(plan),
          resting: plan.restingLots,
          isShort: plan.isShort,
        }).toEqual({
          lots: toLots(json.shares),
          value: toMicros(json.spent),
          fee: toMicros(json.fee),
          average: json.averagePrice === null ? null : toMicros(json.averagePrice),
          resting: toLots(json.restingShares),
          isShort: json.status === 'partially_filled' && json.restingShares === 0,
        });
      }),
      { numRuns: 100 },
    );
  },
);

test.each([
  { offer: 600, own: null, limit: 700 },
  { offer: 600, own: null, limit: 250 },
  { offer: 600, own: 300, limit: 700 },
  { offer: null, own: null, limit: 700 },
])('a purchase needs what the exchange requires: %j', async ({ offer, own, limit }) => {
  setFee(137, 700);
  for (const [ticks, { token }] of [
    [offer, maker],
    [own, taker],
  ] as const) {
    if (ticks === null) continue;
    const body = { outcome: 'DOWN', shares: 5, price: (1_000 - ticks) / 1_000 };
    await server.api.post(`${ORDERS}/buy`, { ...body, timeInForce: 'GTC' }, token);
  }
  const { json: book } = await server.api.get(`${ORDERS}/orderbook`);
  const best = book.UP.asks[0];
  const body = { outcome: 'UP', amount: 900_000.01, price: limit / 1e3, timeInForce: 'IOC' };
  const { json } = await server.api.post(`${ORDERS}/buy`, body, taker.token);
  for (const { token } of [maker, taker]) await server.api.delete(`${ORDERS}/orders`, token);
  const order = { budgetMicros: 900_000_010_000, lots: null, limitTicks: limit, postOnly: false };
  const needed = neededMicros(order, best === undefined ? null : toTicks(best.price), {
    flat: 137,
    curve: 700,
  });
  expect(toMicros(json.error.details.required)).toBe(needed);
});
