/** The house on a real engine, sequencer and journal, with a clock that the test moves. */
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Command } from '../../../engine/interface/commands.js';
import { MarketStatus, Outcome, Side, TimeInForce } from '../../../engine/interface/domain.js';
import { cancelHouseOrders, HOUSE_USERNAME, House } from '../../../gateway/inputs/house/house.js';
import type { Submitter } from '../../../gateway/observe/watched-sequencer.js';
import { fairChance } from '../../../persistence/history/market-json/chance.js';
import { ManualClock } from '../../support/clock.js';
import { buy, DOLLAR, registration, sell, WINDOW_START_MS } from '../../support/engine-support.js';
import { eventually } from '../../support/eventually.js';
import { Exchange } from '../../support/house-support.js';
import { Folders } from '../../support/journal-fixture.js';

const folders = new Folders();
const FUNDS_MICROS = 1_000_000 * DOLLAR;
const WINDOW_MS = 900_000;

let clock: ManualClock;
let exchange: Exchange;
let house: House;
let logged: { level: number; msg: string }[];

beforeEach(async () => {
  logged = [];
  clock = new ManualClock(WINDOW_START_MS, 1);
  exchange = await Exchange.open(folders.make(), clock);
  exchange.do({ kind: 'listAsset', symbol: 'BTC' });
  exchange.do({ kind: 'listAsset', symbol: 'ETH' });
  house = newHouse();
});

afterEach(async () => {
  house.stop();
  exchange.engine.checkInvariants();
  await exchange.close();
  folders.removeAll();
  expect(logged.filter((entry) => entry.msg.includes('refused'))).toEqual([]);
});

function newHouse(fundsMicros = FUNDS_MICROS, sequencer: Submitter = exchange): House {
  const log = pino({ level: 'info' }, { write: (line: string) => logged.push(JSON.parse(line)) });
  return new House({ sequencer, clock, log, fundsMicros });
}

/** A price, passed to the engine and then to the house, as in the gateway. */
function price(dollars: number, asset = 0): void {
  const { priceMicros, observedAtMs } = exchange.price(asset, dollars);
  house.observe(asset, { priceMicros, observedAtMs });
}

const houseId = () => exchange.engine.findUser(HOUSE_USERNAME);
const marketId = (asset = 0) => exchange.engine.activeMarket(asset);
const houseOrders = () => exchange.engine.orders(houseId());
const market = () => exchange.engine.market(marketId())!;

/** The quote for a plain buy of an amount. */
function quoteOf(outcome: Outcome, dollars: number, asset = 0) {
  return exchange.engine.quote({
    marketId: marketId(asset),
    side: Side.BUY,
    outcome,
    budgetMicros: dollars * DOLLAR,
    sizeLots: 10_000_000_000,
    priceTicks: 999,
    userId: 0,
  })!;
}

/** Spent except for what does not buy a whole lot. */
const fillsInFull = (outcome: Outcome, dollars: number, asset = 0) =>
  quoteOf(outcome, dollars, asset).unspentMicros < 1_000;

async function quoted(asset = 0): Promise<void> {
  const isQuoted = () => houseOrders().some((order) => order.marketId === marketId(asset));
  await eventually(isQuoted);
}

/** Moves time in steps of a second, with a price in each, and lets the house act after each. */
async function pass(ms: number, dollars: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    clock.set(clock.nowMs() + 1_000);
    price(dollars);
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a first start', () => {
  test('registers the account once, without a credential', () => {
    house.start();
    const account = exchange.engine.account(houseId())!;
    expect(account.username).toBe('house');
    expect(account.availableMicros).toBe(FUNDS_MICROS);
    expect(exchange.engine.credential(houseId())).toBe('');
    house.stop();
    house = newHouse();
    house.start();
    expect(exchange.engine.userCount).toBe(1);
  });

  test('the first price leads to a book on which a plain buy of either outcome fills completely', async () => {
    house.start();
    price(95_000);
    await quoted();
    for (const outcome of [Outcome.UP, Outcome.DOWN]) {
      expect(fillsInFull(outcome, 10)).toBe(true);
      expect(fillsInFull(outcome, 500)).toBe(true);
      const { valueMicros, filledLots } = quoteOf(outcome, 10);
      expect(valueMicros / filledLots).toBeGreaterThan(500);
      expect(valueMicros / filledLots).toBeLessThan(540);
    }
    expect(marketId(1)).toBe(0);
    price(3_300, 1);
    await eventually(() => expect(fillsInFull(Outcome.UP, 10, 1)).toBe(true));
  });

  test('refuses to start when a user with a password has its name', () => {
    exchange.do({ ...registration('House', 100), kind: 'register', credential: 'hash' } as never);
    const sentBefore = exchange.sent.length;
    expect(() => house.start()).toThrow(/"house" belongs to a user who can sign in/);
    cancelHouseOrders(exchange);
    expect(exchange.sent).toHaveLength(sentBefore);
  });
});

/** The fair value of UP from the prices that the house has seen. */
const fairTicks = () => fairChance(exchange.engine, market())!.probability * 1_000;

describe('a market’s life', () => {
  test('moves its quotes within the turn of the price: no command can come in between', async () => {
    house.start();
    await pass(10_000, 95_000);
    const before = market().bestAskTicks!;
    clock.set(clock.nowMs() + 250);
    price(95_100);
    expect(market().bestAskTicks!).toBeGreaterThan(before + 20);
    expect(market().bestAskTicks!).toBeGreaterThan(fairTicks());
    const sent = exchange.sent.length;
    clock.set(clock.nowMs() + 250);
    price(95_101);
    // Too small a move: nothing but the price.
    expect(exchange.sent).toHaveLength(sent + 1);
  });

  test('renews quotes that were taken', async () => {
    house.start();
    price(95_000);
    await quoted();
    exchange.do(registration('taker', 10_000));
    exchange.do(buy({ userId: 2, marketId: marketId(), budgetMicros: 900 * DOLLAR }));
    expect(fillsInFull(Outcome.UP, 300)).toBe(false);
    clock.set(clock.nowMs() + 1_000);
    await eventually(() => expect(fillsInFull(Outcome.UP, 300)).toBe(true));
  });

  test('widens spreads a minute before the end, and quotes until the end', async () => {
    exchange.scheduler.start();
    house.start();
    price(95_000);
    await quoted();
    const spread = () => market().bestAskTicks! - market().bestBidTicks!;
    const early = spread();
    await pass(WINDOW_MS - 61_000, 95_000);
    expect(spread()).toBeGreaterThan(early * 1.5);
    await pass(60_000, 95_000);
    expect(spread()).toBeGreaterThan(early * 1.5);
    const ended = marketId();
    const ofMarket = () => houseOrders().filter((order) => order.marketId === ended);
    expect(ofMarket().length).toBeGreaterThan(0);
    clock.set(WINDOW_START_MS + WINDOW_MS);
    await eventually(() => expect(ofMarket()).toEqual([]));
  });

  test('quotes the next market, and is paid its winnings of the last', async () => {
    exchange.scheduler.start();
    house.start();
    price(95_000);
    await quoted();
    const first = marketId();
    exchange.do(registration('taker', 10_000));
    exchange.do(
      buy({ userId: 2, marketId: first, outcome: Outcome.UP, budgetMicros: 100 * DOLLAR }),
    );
    await pass(WINDOW_MS, 94_900);
    await eventually(() => expect(marketId()).not.toBe(first));
    await pass(3_000, 94_900);
    await eventually(() =>
      expect(exchange.engine.market(first)?.status).toBe(MarketStatus.RESOLVED),
    );
    await eventually(() => expect(exchange.engine.position(houseId(), first)).toBeNull());
    const claimed = exchange.events().filter((event) => event.type === 'claimed');
    expect(claimed).toHaveLength(1);
    expect(claimed[0]).toMatchObject({ userId: houseId(), automatic: 1 });
    expect(fillsInFull(Outcome.UP, 10) && fillsInFull(Outcome.DOWN, 10)).toBe(true);
    const { availableMicros, heldMicros } = exchange.engine.account(houseId())!;
    expect(availableMicros + heldMicros).toBe(FUNDS_MICROS + 100 * DOLLAR - quoteDust());
  });

  /** What remains of the taker's 100 dollars after whole lots. */
  function quoteDust(): number {
    const trades = exchange.events().filter((event) => event.type === 'trade');
    return 100 * DOLLAR - trades.reduce((sum, each) => sum + each.upTicks * each.sizeLots, 0);
  }

  test('withdraws its quotes after two seconds without a price, until one comes', async () => {
    house.start();
    price(95_000);
    await quoted();
    clock.set(clock.nowMs() + 2_000);
    await clock.seen();
    expect(houseOrders().length).toBeGreaterThan(0);
    clock.set(clock.nowMs() + 1);
    await eventually(() => expect(houseOrders()).toEqual([]));
    price(95_010);
    await quoted();
  });

  test('has no quotes while the price is held back', async () => {
    house.start();
    price(95_000);
    clock.set(clock.nowMs() + 500);
    const held = { priceMicros: 50_000 * DOLLAR, observedAtMs: clock.nowMs() };
    exchange.do({ kind: 'observePrice', asset: 0, ...held });
    expect(exchange.engine.heldPrice(0)).not.toBeNull();
    house.observe(0, null);
    expect(houseOrders()).toEqual([]);
    clock.set(clock.nowMs() + 500);
    price(95_000);
    await quoted();
  });
});

describe('upcoming markets', () => {
  const [lists, bid] = [{ kind: 'listMarkets', asset: 0, ahead: true }, 999] as const;
  const next = () => exchange.engine.market(exchange.engine.upcomingMarkets(0)[0]!)!;
  const inNext = () => houseOrders().filter((order) => order.marketId === next().marketId);

  beforeEach(async () => {
    exchange.scheduler.start();
    exchange.do(lists);
    house.start();
    price(95_000);
    clock.set(clock.nowMs() + 1_000);
    await eventually(() =>
      expect(new Set(houseOrders().map((each) => each.marketId)).size).toBe(5),
    );
  });

  test('are quoted at half a dollar, whatever the price does, until a minute before the start', async () => {
    expect(next()).toMatchObject({ bestBidTicks: 490, bestAskTicks: 510 });
    await pass(WINDOW_MS - 62_000, 95_300);
    expect(next()).toMatchObject({ bestBidTicks: 490, bestAskTicks: 510 });
    const { marketId } = next();
    await pass(2_000, 95_300);
    await eventually(() => expect(inNext()).toEqual([]));
    await pass(61_000, 95_300);
    expect(exchange.engine.activeMarket(0)).toBe(marketId);
    await quoted();
  });

  // So two accounts cannot mint complete sets there almost without a fee.
  test('sell to an absurd bid before it can rest', async () => {
    exchange.do(registration('absurd', 10_000));
    const order = { userId: 2, marketId: next().marketId, priceTicks: bid, sizeLots: 3_000_000 };
    const terms = { timeInForce: TimeInForce.GTC, postOnly: true };
    expect(exchange.submit(buy({ ...order, ...terms })).values[1]).not.toBe(0);
    exchange.do(buy({ ...order, timeInForce: TimeInForce.GTC }));
    const sold = exchange.events().filter((event) => event.type === 'trade');
    expect(sold.map(({ upTicks }) => upTicks)).toEqual([510, 515, 521, 530, 545, 565]);
    expect(exchange.engine.position(houseId(), order.marketId)!.downLots).toBeGreaterThan(
      1_800_000,
    );
  });
});

describe('inventory and money', () => {
  test('sells to a persistent buyer at rising prices, up to its cap', async () => {
    house.start();
    price(95_000);
    await quoted();
    exchange.do(registration('whale', 900_000));
    const capLots = FUNDS_MICROS / 40 / 1_000;
    let last = 0;
    for (let i = 0; i < 200; i++) {
      exchange.submit(buy({ userId: 2, marketId: marketId(), budgetMicros: 2_000 * DOLLAR }));
      const position = exchange.engine.position(houseId(), marketId())!;
      expect(position.downLots - position.upLots).toBeLessThanOrEqual(capLots);
      last = position.downLots;
      await pass(1_000, 95_000);
    }
    // All but a few lots, because of the sizes of the levels.
    expect(last).toBeGreaterThan(capLots - 100);
    expect(quoteOf(Outcome.UP, 10).filledLots).toBeLessThan(100);
    expect(fillsInFull(Outcome.DOWN, 300)).toBe(true);
    const prices = exchange
      .events()
      .flatMap((event) => (event.type === 'trade' ? [event.upTicks] : []));
    expect(prices.at(-1)!).toBeGreaterThan(prices[0]! + 20);
  });

  test('gets its money back when sold shares return, so round trips do not exhaust it', async () => {
    house.start();
    price(95_000);
    await quoted();
    exchange.do(registration('trader', 100_000));
    let tradedMicros = 0;
    for (let i = 0; i < 300; i++) {
      const spent = exchange.do(
        buy({ userId: 2, marketId: marketId(), budgetMicros: 300 * DOLLAR }),
      );
      tradedMicros += spent.values[10]!;
      const { upLots } = exchange.engine.position(2, marketId())!;
      exchange.do(sell({ userId: 2, marketId: marketId(), sizeLots: upLots }));
      await pass(1_000, 95_000);
    }
    expect(tradedMicros).toBeGreaterThan(50_000 * DOLLAR);
    const { availableMicros, heldMicros } = exchange.engine.account(houseId())!;
    expect(availableMicros + heldMicros).toBeGreaterThan(FUNDS_MICROS * 0.99);
    expect(fillsInFull(Outcome.UP, 300) && fillsInFull(Outcome.DOWN, 300)).toBe(true);
  });

  test('quotes what is left after losses, and logs that once', async () => {
    house.start();
    const amountMicros = FUNDS_MICROS - 20 * DOLLAR;
    exchange.do({ kind: 'stake', userId: houseId(), amountMicros, idempotencyKey: null });
    price(95_000);
    await quoted();
    expect(exchange.engine.account(houseId())!.heldMicros).toBeGreaterThan(10 * DOLLAR);
    await pass(20_000, 95_000);
    const warnings = logged.filter((entry) => entry.msg.includes('reduced'));
    expect(warnings).toHaveLength(1);
  });

  test('stops when it has lost a tenth of its funds in a day, and says so', async () => {
    house.stop();
    house = newHouse(2_000 * DOLLAR);
    exchange.scheduler.start();
    house.start();
    exchange.do(registration('lucky', 100_000));
    price(95_000);
    // Each time the buyer is right.
    let window = 0;
    for (; window < 40 && houseOrders().length > 0; window++) {
      exchange.submit(buy({ userId: 2, marketId: marketId(), budgetMicros: 200 * DOLLAR }));
      await pass(WINDOW_MS + 2_000, 95_010 + 10 * window);
    }
    expect(window).toBeLessThan(40);
    const lost = -exchange.engine.account(houseId())!.realizedProfitMicros;
    expect(lost).toBeGreaterThan(100 * DOLLAR);
    expect(lost).toBeLessThan(260 * DOLLAR);
    expect(logged.filter((entry) => entry.msg.includes('loss limit'))).toHaveLength(1);
  });

  test('stays behind other orders in the book and takes nothing', async () => {
    exchange.do(registration('other', 100_000));
    price(95_000);
    const order = {
      userId: 1,
      marketId: marketId(),
      timeInForce: TimeInForce.GTC,
      sizeLots: 100_000,
    };
    exchange.do(buy({ ...order, priceTicks: 600 }));
    exchange.do(buy({ ...order, priceTicks: 380, outcome: Outcome.DOWN }));
    house.start();
    house.observe(0, { priceMicros: 95_000 * DOLLAR, observedAtMs: clock.nowMs() });
    await quoted();
    expect(exchange.events().filter((event) => event.type === 'trade')).toEqual([]);
    expect(market().bestBidTicks).toBe(600);
    const depth = exchange.engine.depth(marketId(), 10)!;
    expect(depth.asks.map((level) => level.priceTicks)).toEqual([601, 607, 616, 620, 631, 651]);
  });
});

describe('stopping and starting', () => {
  test('a stop cancels every quote, and sends nothing afterwards', async () => {
    let sent = 0;
    const submit = (command: Command) => {
      sent++;
      return exchange.submit(command);
    };
    house = newHouse(FUNDS_MICROS, { engine: exchange.engine, submit });
    house.start();
    price(95_000);
    price(3_300, 1);
    await eventually(() =>
      expect(new Set(houseOrders().map((order) => order.marketId)).size).toBe(2),
    );
    house.stop();
    expect(houseOrders()).toEqual([]);
    const sentBefore = sent;
    price(95_500);
    clock.set(clock.nowMs() + 5_000);
    // A house started later acts and wakes up by its timer.
    const next = newHouse();
    next.start();
    next.observe(0, { priceMicros: 95_500 * DOLLAR, observedAtMs: clock.nowMs() });
    await quoted();
    await clock.seen();
    next.stop();
    expect(sent).toBe(sentBefore);
  });

  test('a start first cancels what a crash left resting', async () => {
    house.start();
    price(95_000);
    await quoted();
    // As if the process had ended here: the next house only knows the engine.
    const next = newHouse();
    next.start();
    expect(houseOrders()).toEqual([]);
    house.stop();
    house = next;
    price(95_001);
    await quoted();
  });

  test('a start without a house cancels it, too', async () => {
    house.start();
    price(95_000);
    await quoted();
    cancelHouseOrders(exchange);
    expect(houseOrders()).toEqual([]);
    expect(exchange.engine.account(houseId())).toMatchObject({
      availableMicros: FUNDS_MICROS,
      heldMicros: 0,
    });
  });
});
