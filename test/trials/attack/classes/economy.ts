/**
 * What the rules of the market and its rewards give to accounts that cost nothing
 * (engine/INCENTIVES.md). There is no house: one user offers everything that is for sale.
 */
import type { Answer } from '../../../../bench/http/load/client.js';
import type { Attack, AttackClass } from '../attack.js';
import { microsOf, openMarket, type Trader } from '../methods/client.js';
import { eventually, mustHold } from '../promises.js';
import { SPEED, type Stage } from '../stage.js';

/** An order meets as many others at most. */
const MAKERS = 5_000;
const ACCOUNTS = 5;
const BATCH = 100;
const DUST = 0.001;
/** Real time that an attack needs its market for. */
const WALL_MS = 9_000;
const SETTLED_LIMIT_MS = 60_000;

interface Order {
  outcome: 'UP' | 'DOWN';
  shares?: number;
  amount?: number;
  price?: number;
  timeInForce?: 'GTC' | 'IOC' | 'FOK';
}

function order(trader: Trader, marketId: string, side: 'buy' | 'sell', body: Order) {
  return trader.send({ method: 'POST', path: `/markets/15m/${marketId}/${side}`, body });
}

async function mustBe(status: number, answer: Promise<Answer>): Promise<Answer['json']> {
  const { status: got, text, json } = await answer;
  mustHold(got === status, `an order was answered ${got}: ${text}`);
  return json;
}

/** Rests 5,000 purchases of DOWN, which are offers of UP. Resolves to the codes of the refusals. */
async function wall(traders: readonly Trader[], marketId: string, price: number, shares: number) {
  const operation = { op: 'buy', marketId, outcome: 'DOWN', price, shares, timeInForce: 'GTC' };
  const body = { operations: Array.from({ length: BATCH }, () => operation) };
  const codes = new Set<string>();
  for (const trader of traders)
    for (let i = 0; i < MAKERS / ACCOUNTS / BATCH; i++) {
      const { json, text } = await trader.send({ method: 'POST', path: '/batch', body });
      mustHold(json.results !== undefined, `a batch was answered ${text}`);
      for (const { error } of json.results) if (error !== undefined) codes.add(error.code);
    }
  return [...codes];
}

async function heldBy(traders: readonly Trader[]): Promise<number> {
  let micros = 0;
  for (const { userId, send } of traders.map((trader) => bound(trader)))
    micros += microsOf((await send({ path: `/users/${userId}/balance` })).json.held);
  return micros / 1_000_000;
}

const bound = (trader: Trader) => ({ userId: trader.userId, send: trader.send.bind(trader) });

const wallOfDust: Attack = {
  name: 'a wall of small orders',
  done: '5,000 orders of five users in front of all offers; a customer buys for 50 dollars',
  run: async (stage) => {
    const [offers, customer, ...traders] = await users(stage, 2 + ACCOUNTS);
    const marketId = await openMarket(customer!, WALL_MS * SPEED);
    await mustBe(
      200,
      order(offers!, marketId, 'buy', {
        outcome: 'DOWN',
        price: 0.48,
        shares: 100_000,
        timeInForce: 'GTC',
      }),
    );
    const refusals = await wall(traders, marketId, 0.5, DUST);
    mustHold(
      `${refusals}` === 'too_small_to_rest' && (await heldBy(traders)) === 0,
      `orders of ${DUST} share were refused with "${refusals}"`,
    );
    const others = await wall(traders, marketId, 0.5, 2);
    const held = await heldBy(traders);
    mustHold(others.length === 0 && held >= MAKERS, `the wall holds ${held} dollars: ${others}`);
    let longestMs = 0;
    for (let i = 0; i < 20; i++) {
      const timeInForce = i % 2 === 0 ? 'FOK' : 'IOC';
      const startedMs = performance.now();
      const bought = await mustBe(
        200,
        order(customer!, marketId, 'buy', { outcome: 'UP', amount: 50, timeInForce }),
      );
      longestMs = Math.max(longestMs, performance.now() - startedMs);
      mustHold(bought.status === 'filled', `50 dollars bought for ${bought.spent}`);
    }
    // The rest of the wall has fewer orders than one order may meet.
    await wall(traders, marketId, 0.5, 2);
    const large = await mustBe(
      200,
      order(customer!, marketId, 'buy', { outcome: 'UP', amount: 9_000 }),
    );
    mustHold(
      large.spent >= MAKERS && (large.reason === 'trade_limit' || large.status === 'filled'),
      `9,000 dollars bought for ${large.spent}: ${large.status}, ${large.reason}`,
    );
    return `5,000 orders hold ${held} dollars; 20 purchases were filled, in ${longestMs.toFixed(0)} ms at most; 9,000 dollars bought for ${large.spent} (${large.reason})`;
  },
};

async function users(stage: Stage, count: number): Promise<Trader[]> {
  const traders: Trader[] = [];
  for (let i = 0; i < count; i++) traders.push(await stage.register());
  return traders;
}

const freeVolume: Attack = {
  name: 'volume without fees',
  done: 'two accounts sell the same shares to each other, to resting orders, 100 times',
  run: async (stage) => {
    const [one, other] = await users(stage, 2);
    const marketId = await openMarket(one!, WALL_MS * SPEED);
    const terms = { outcome: 'UP', price: 0.5, shares: 1_000 } as const;
    const rests = { ...terms, timeInForce: 'GTC' } as const;
    await mustBe(200, order(one!, marketId, 'buy', { ...rests, outcome: 'DOWN' }));
    const { fee } = await mustBe(200, order(other!, marketId, 'buy', terms));
    let [seller, buyer] = [other!, one!];
    for (let i = 0; i < 100; i++) {
      await mustBe(200, order(buyer, marketId, 'buy', rests));
      const sold = await mustBe(200, order(seller, marketId, 'sell', terms));
      mustHold(sold.fee === 0, `a sale cost ${sold.fee}`);
      [seller, buyer] = [buyer, seller];
    }
    const volumes: number[] = [];
    for (const trader of [one!, other!])
      volumes.push((await trader.send({ path: `/users/${trader.userId}` })).json.volume);
    const volume = volumes[0]! + volumes[1]!;
    mustHold(volume * 0.005 <= fee + 1e-6, `volumes of ${volumes} for a fee of ${fee}`);
    return `50,000 dollars went to and fro; the volume is ${volume}, its fee ${fee}`;
  },
};

const oneDollarInTheVault: Attack = {
  name: 'one dollar in an empty vault',
  done: 'stake a dollar, and pay a fee of 50 dollars to oneself, with a referrer of one’s own',
  run: async (stage) => {
    const [staker, maker] = await users(stage, 2);
    const { json: staked } = await staker!.stake(1, 'one-dollar');
    let marketId = '';
    await eventually('the dollar has been staked for a market', SETTLED_LIMIT_MS, async () => {
      const { json } = await staker!.send({ path: '/markets/15m?asset=BTC' });
      const [market] = json.markets;
      if (market !== undefined && market.endsAtMs >= staked.earnsFromMs) marketId = market.id;
      return marketId !== '';
    });
    const terms = { price: 0.5, shares: 20_000 };
    await mustBe(
      200,
      order(maker!, marketId, 'buy', { ...terms, outcome: 'DOWN', timeInForce: 'GTC' }),
    );
    const { fee } = await mustBe(200, order(staker!, marketId, 'buy', { ...terms, outcome: 'UP' }));
    await eventually('the market is resolved', SETTLED_LIMIT_MS, async () => {
      const { json } = await staker!.send({ path: `/markets/${marketId}` });
      return json.status === 'resolved';
    });
    const { json } = await staker!.send({ path: `/users/${staker!.userId}/vaults` });
    const earned = json.deposits[0].accruedYield;
    mustHold(earned <= 0.01, `the dollar earned ${earned} of a fee of ${fee}`);
    return `a dollar earned ${earned} of a fee of ${fee}`;
  },
};

export const economy: AttackClass = {
  name: 'economy',
  variables: { HOUSE: 'off' },
  isolated: true,
  attacks: [wallOfDust, freeVolume, oneDollarInTheVault],
};
