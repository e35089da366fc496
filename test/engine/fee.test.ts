/**
 * The cost of a buy over HTTP: its value plus half a percent, charged once and rounded up to a
 * micro-dollar; on the amount if that is used up, otherwise on the value. The shares are those of
 * the order book before it, level by level. Computed with big.js from the answers alone.
 */
import { Big } from 'big.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Random } from '../../bench/workload/random.js';
import { SEED } from '../support/extent.js';
import { MARKET, TestServer, type Trader } from '../support/server.js';
import { expectDecimal, feeOn, type OutcomeName } from '../trials/real-day/decimals.js';

const LOT_PLACES = 3;
const LOT = new Big('0.001');
/** The most that the next lot can cost, when none is offered. */
const HIGHEST_PRICE = 0.999;

let server: TestServer;
let makers: Trader[];
let taker: Trader;

beforeEach(async () => {
  server = await TestServer.withMarket({ startingBalanceMicros: 100_000_000_000 });
  makers = [
    await server.register('maker-1'),
    await server.register('maker-2'),
    await server.register('maker-3'),
  ];
  taker = await server.register('taker');
});
afterEach(() => server.stop());

interface Level {
  price: number;
  shares: number;
}

/** Rests a bid for the outcome; a buyer of the other one at 1 - price trades with it. */
async function rest(maker: Trader, outcome: OutcomeName, { price, shares }: Level): Promise<void> {
  const body = { outcome, shares, price, timeInForce: 'GTC', postOnly: true };
  const { status, text } = await server.api.post(`/markets/15m/${MARKET}/buy`, body, maker.token);
  expect(status, text).toBe(200);
}

async function asksOf(outcome: OutcomeName): Promise<Level[]> {
  const { json } = await server.api.get(`/markets/15m/${MARKET}/orderbook?depth=999`);
  return json[outcome].asks;
}

async function balance(): Promise<{ available: number; held: number }> {
  const { json } = await server.api.get(`/users/${taker.userId}/balance`, taker.token);
  return json;
}

interface Bought {
  shares: Big;
  spent: Big;
  levelsUsed: number;
  /** The rest of the amount is less than the next lot costs. */
  isUsedUp: boolean;
}

/** Fills a budget from these levels: as many whole lots of each, best first, as it affords. */
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

/**
 * Buys, and checks quote, receipt, trades and balance against big.js. Returns the book's answer and
 * what was left unspent.
 */
async function buy(outcome: OutcomeName, amount: number): Promise<Bought & { unspent: Big }> {
  const before = await balance();
  const bought = boughtOf(await asksOf(outcome), new Big(amount));
  const { shares, spent, isUsedUp } = bought;
  const quotePath = `/markets/15m/${MARKET}/quote?outcome=${outcome}&amount=${new Big(amount).toFixed()}`;
  const quote = (await server.api.get(quotePath)).json;
  const body = { userId: taker.userId, outcome, amount };
  const { status, json, text } = await server.api.post(
    `/markets/15m/${MARKET}/buy`,
    body,
    taker.token,
  );
  expect(status, text).toBe(200);
  const fee = feeOn(isUsedUp ? new Big(amount) : spent);
  const unspent = new Big(amount).minus(spent);
  expect(json.status).toBe(isUsedUp ? 'filled' : 'partially_filled');
  expectDecimal(quote.spent, spent, 'spent in the quote');
  expectDecimal(quote.fee, fee, 'fee in the quote');
  expectDecimal(json.shares, shares, 'shares');
  expectDecimal(json.spent, spent, 'spent');
  expectDecimal(json.fee, fee, 'fee');
  expectDecimal(json.total, spent.plus(fee), 'total');
  expectDecimal(json.unspent, unspent, 'unspent');
  const after = await balance();
  expectDecimal(
    after.available,
    new Big(before.available).minus(spent).minus(fee),
    'available after',
  );
  expect([after.held, json.balance]).toEqual([0, { available: after.available, held: 0 }]);
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

describe(`the fee, SEED=${SEED}`, () => {
  test('refuses a balance that covers the amount but not the fee', async () => {
    await rest(makers[0]!, 'DOWN', { price: 0.5, shares: 100_000 });
    const { available } = await balance();
    const path = `/markets/15m/${MARKET}/buy`;
    const refused = await server.api.post(path, { outcome: 'UP', amount: available }, taker.token);
    expect(refused.status).toBe(422);
    const required = new Big(available).plus(feeOn(new Big(available)));
    expect(refused.json.error.details).toEqual({ required: required.toNumber(), available });
    expect((await balance()).available).toBe(available);
  });

  test('random amounts of either outcome, through any number of levels', async () => {
    const random = new Random(SEED);
    const levelsSeen = new Set<number>();
    let leftOver = 0;
    const isCovered = () => Math.max(...levelsSeen) > 2 && leftOver > 3;
    // Some seeds need more rounds than others before an order crosses several levels.
    for (let round = 0; round < 12 || (round < 100 && !isCovered()); round++) {
      const count = random.whole(1, 8);
      for (let i = 0; i < count; i++) {
        const maker = random.pick(makers);
        // Bids from 0.02 to 0.45 for UP, and for DOWN the same, so the two never cross.
        const level = {
          price: random.whole(20, 450) / 1_000,
          shares: random.whole(1, 60_000) / 1_000,
        };
        await rest(maker, random.pick(['UP', 'DOWN']), level);
      }
      for (const outcome of ['UP', 'DOWN'] as const) {
        if ((await asksOf(outcome)).length === 0) continue;
        const magnitude = random.pick([1_000_000, 10_000_000, 100_000_000]);
        const { levelsUsed, unspent } = await buy(
          outcome,
          random.whole(1_000, magnitude) / 1_000_000,
        );
        levelsSeen.add(levelsUsed);
        if (unspent.gt(0)) leftOver++;
      }
    }
    expect(isCovered()).toBe(true);
  });
});
