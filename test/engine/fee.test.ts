/**
 * The cost of a buy over HTTP: its value plus half a percent, charged once and rounded up to a
 * micro-dollar. The fee is on the amount if that is used up, otherwise on the value. The shares are
 * those of the order book before the buy, level by level. Expected values are computed with big.js
 * from the answers alone.
 */
import { Big } from 'big.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SEED } from '../support/extent.js';
import { MARKET, TestServer, type Trader } from '../support/server.js';
import { Random } from '../support/workload/random.js';

const LOT_PLACES = 3;
const LOT = new Big('0.001');
/** The highest possible cost of the next lot, when none is offered. */
const HIGHEST_PRICE = 0.999;
const PATH = `/markets/15m/${MARKET}`;

type OutcomeName = 'UP' | 'DOWN';

/** 0.5% of an amount, rounded up to a micro-dollar. */
function feeOn(amount: Big): Big {
  return amount.times('0.005').round(6, Big.roundUp);
}

function expectDecimal(actual: number, expected: Big, what: string): void {
  expect(`${what}: ${new Big(actual).toFixed()}`).toBe(`${what}: ${expected.toFixed()}`);
}

let server: TestServer;
let maker: Trader;
let taker: Trader;
beforeAll(async () => {
  server = await TestServer.withMarket({ startingBalanceMicros: 100_000_000_000 });
  [maker, taker] = [await server.register('maker'), await server.register('taker')];
});
afterAll(() => server.stop());

interface Level {
  price: number;
  shares: number;
}

/** Rests a bid for the outcome; a buyer of the other outcome at 1 - price trades with it. */
async function rest(outcome: OutcomeName, level: Level): Promise<void> {
  const body = { outcome, ...level, timeInForce: 'GTC', postOnly: true };
  const { status, text } = await server.api.post(`${PATH}/buy`, body, maker.token);
  expect(status, text).toBe(200);
}

async function asksOf(outcome: OutcomeName): Promise<Level[]> {
  return (await server.api.get(`${PATH}/orderbook?depth=999`)).json[outcome].asks;
}

async function available(): Promise<number> {
  const { json } = await server.api.get(`/users/${taker.userId}/balance`, taker.token);
  expect(json.held).toBe(0);
  return json.available;
}

interface Bought {
  shares: Big;
  spent: Big;
  levelsUsed: number;
  /** Whether the rest of the amount is less than the cost of the next lot. */
  isUsedUp: boolean;
}

/** Fills a budget from these levels: as many whole lots as it affords, best first. */
function boughtOf(levels: readonly Level[], budget: Big): Bought {
  let shares = new Big(0);
  let spent = new Big(0);
  let levelsUsed = 0;
  let nextPrice = HIGHEST_PRICE;
  for (const level of levels) {
    const affordable = budget.minus(spent).div(level.price).round(LOT_PLACES, Big.roundDown);
    const taken = affordable.lt(level.shares) ? affordable : new Big(level.shares);
    if (taken.lt(level.shares)) nextPrice = level.price;
    if (taken.eq(0)) break;
    shares = shares.plus(taken);
    spent = spent.plus(taken.times(level.price));
    levelsUsed++;
    if (taken.lt(level.shares)) break;
  }
  const isUsedUp = budget.minus(spent).lt(LOT.times(nextPrice));
  return { shares, spent, levelsUsed, isUsedUp };
}

/** Buys, and checks quote, receipt, trades and balance against big.js. */
async function buy(outcome: OutcomeName, amount: number): Promise<Bought & { unspent: Big }> {
  const before = await available();
  const budget = new Big(amount);
  const bought = boughtOf(await asksOf(outcome), budget);
  const { shares, spent, isUsedUp } = bought;
  const asked = `${PATH}/quote?outcome=${outcome}&amount=${budget.toFixed()}`;
  const { json: quote } = await server.api.get(asked);
  const { status, json, text } = await server.api.post(
    `${PATH}/buy`,
    { outcome, amount },
    taker.token,
  );
  expect(status, text).toBe(200);
  expect(json.status).toBe(isUsedUp ? 'filled' : 'partially_filled');
  const fee = feeOn(isUsedUp ? budget : spent);
  const unspent = budget.minus(spent);
  expectDecimal(quote.spent, spent, 'spent in the quote');
  expectDecimal(quote.fee, fee, 'fee in the quote');
  const expected = { shares, spent, fee, total: spent.plus(fee), unspent };
  for (const [name, value] of Object.entries(expected)) expectDecimal(json[name], value, name);
  const after = await available();
  expectDecimal(after, new Big(before).minus(expected.total), 'available after');
  expect(json.balance).toEqual({ available: after, held: 0 });
  expectDecimal((await feesOfTrades(json.orderId)).toNumber(), fee, 'fees of the trades');
  server.exchange.sequencer.engine.checkInvariants();
  return { ...bought, unspent };
}

/** The fees of an order's trades, from the user's history. */
async function feesOfTrades(orderId: string): Promise<Big> {
  const { json } = await server.api.read(`/users/${taker.userId}/trades?limit=200`, taker.token);
  let fees = new Big(0);
  for (const trade of json.trades) if (trade.orderId === orderId) fees = fees.plus(trade.fee);
  return fees;
}

test(`random amounts of either outcome, through any number of levels, SEED=${SEED}`, async () => {
  const random = new Random(SEED);
  let [mostLevels, leftOver] = [0, 0];
  const isCovered = () => mostLevels > 2 && leftOver > 3;
  // Some seeds need more rounds before an order crosses several levels.
  for (let round = 0; round < 12 || (round < 100 && !isCovered()); round++) {
    for (let i = random.whole(1, 8); i > 0; i--) {
      // Bids from 0.02 to 0.45 for either outcome never cross.
      const price = random.whole(20, 450) / 1_000;
      await rest(random.pick(['UP', 'DOWN']), { price, shares: random.whole(1, 60_000) / 1_000 });
    }
    for (const outcome of ['UP', 'DOWN'] as const) {
      if ((await asksOf(outcome)).length === 0) continue;
      const most = random.pick([1_000_000, 10_000_000, 100_000_000]);
      const { levelsUsed, unspent } = await buy(outcome, random.whole(1_000, most) / 1_000_000);
      mostLevels = Math.max(mostLevels, levelsUsed);
      if (unspent.gt(0)) leftOver++;
    }
  }
  expect(isCovered()).toBe(true);
});
