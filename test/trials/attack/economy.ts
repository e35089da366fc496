/**
 * What the rules of the market and its rewards give to free accounts (engine/INCENTIVES.md), and
 * what a private account reveals. Without the house, one user offers everything that is for sale.
 */
import { expect } from 'vitest';
import { eventually, NO_MARKET_MS } from '../../support/eventually.js';
import type { Answer } from '../../support/server.js';
import type { Stage, User } from './stage.js';

/** The most orders that an order trades with. */
const MAKERS = 5_000;
const ACCOUNTS = 5;
const BATCH = 100;
/** Real time that an attack needs its market for. */
const MARKET_MS = 9_000;

const users = (stage: Stage, count: number): Promise<User[]> =>
  Promise.all(Array.from({ length: count }, () => stage.register()));

async function done(answer: Promise<Answer>): Promise<Answer['json']> {
  const { status, text, json } = await answer;
  expect(status, text).toBe(200);
  return json;
}

/** Rests 5,000 bids for DOWN, which are offers of UP. Returns the codes of the refusals. */
async function wall({ api }: Stage, traders: readonly User[], marketId: string, shares: number) {
  const terms = { outcome: 'DOWN', price: 0.5, shares, timeInForce: 'GTC' };
  const operations = Array.from({ length: BATCH }, () => ({ op: 'buy', marketId, ...terms }));
  const codes = new Set<string>();
  for (const { token } of traders)
    for (let i = 0; i < MAKERS / ACCOUNTS / BATCH; i++) {
      const { results } = await done(api.post('/batch', { operations }, token));
      for (const { error } of results) if (error !== undefined) codes.add(error.code);
    }
  return [...codes];
}

/** The upcoming markets with the most time before them, the last one first. */
async function upcomingMarkets({ api }: Stage, count: number): Promise<string[]> {
  let ids: string[] = [];
  await eventually(async () => {
    const { markets } = (await api.get('/markets?status=upcoming&asset=BTC')).json;
    ids = markets.map(({ id }: { id: string }) => id).slice(0, count);
    return ids.length === count;
  }, NO_MARKET_MS);
  return ids;
}

/** Attacks that need the house. */
export const besideHouse: readonly { name: string; attack(stage: Stage): Promise<string> }[] = [
  {
    name: 'a pair that mints in an upcoming market meets the offers of the house first',
    attack: async (stage) => {
      const [one, other] = await users(stage, 2);
      const shares = 2_500;
      let [fees, spent] = [0, 0];
      for (const marketId of await upcomingMarkets(stage, 3)) {
        const book = `/markets/15m/${marketId}/orderbook`;
        await eventually(async () => (await stage.api.get(book)).json.UP.asks.length > 0);
        const terms = { shares, timeInForce: 'GTC' };
        const [bid, taken] = await Promise.all([
          done(stage.order(one!, marketId, 'buy', { ...terms, outcome: 'UP', price: 0.98 })),
          done(stage.order(other!, marketId, 'buy', { ...terms, outcome: 'DOWN', price: 0.02 })),
        ]);
        expect(bid.shares, JSON.stringify(bid)).toBeGreaterThan(0);
        expect(bid.averagePrice).toBeLessThan(0.75);
        fees += bid.fee + taken.fee;
        spent += bid.spent;
      }
      expect(fees).toBeGreaterThanOrEqual(spent * 0.005 * 0.99);
      const split = 3 * shares * 0.005;
      return `bought ${spent.toFixed(0)} dollars of the house for ${fees.toFixed(2)} of fees; a split of all costs ${split}`;
    },
  },
];

export const economy: readonly { name: string; attack(stage: Stage): Promise<string> }[] = [
  {
    name: 'a wall of 5,000 orders in front of all offers keeps no customer from buying',
    attack: async (stage) => {
      const [offers, customer, ...traders] = await users(stage, 2 + ACCOUNTS);
      const marketId = await stage.openMarket(MARKET_MS);
      const buy = (user: User, body: object) => done(stage.order(user, marketId, 'buy', body));
      const far = { outcome: 'DOWN', price: 0.48, shares: 100_000, timeInForce: 'GTC' };
      await buy(offers!, far);
      expect(await wall(stage, traders, marketId, 0.001)).toEqual(['too_small_to_rest']);
      expect(await wall(stage, traders, marketId, 2)).toEqual([]);
      for (let i = 0; i < 20; i++) {
        const timeInForce = i % 2 === 0 ? 'FOK' : 'IOC';
        const bought = await buy(customer!, { outcome: 'UP', amount: 50, timeInForce });
        expect(bought.status).toBe('filled');
      }
      await wall(stage, traders, marketId, 2);
      const large = await buy(customer!, { outcome: 'UP', amount: 9_000 });
      expect(large.spent).toBeGreaterThanOrEqual(MAKERS);
      expect([large.status, large.reason]).toContain(
        large.status === 'filled' ? 'filled' : 'trade_limit',
      );
      return `9,000 dollars bought for ${large.spent}: ${large.reason}`;
    },
  },
  {
    name: 'two accounts that sell the same shares to each other gain no volume',
    attack: async (stage) => {
      const [one, other] = await users(stage, 2);
      const marketId = await stage.openMarket(MARKET_MS);
      const terms = { outcome: 'UP', price: 0.5, shares: 1_000 };
      const rests = { ...terms, timeInForce: 'GTC' };
      await done(stage.order(one!, marketId, 'buy', { ...rests, outcome: 'DOWN' }));
      const { fee } = await done(stage.order(other!, marketId, 'buy', terms));
      let [seller, buyer] = [other!, one!];
      for (let i = 0; i < 100; i++) {
        await done(stage.order(buyer, marketId, 'buy', rests));
        expect((await done(stage.order(seller, marketId, 'sell', terms))).fee).toBe(0);
        [seller, buyer] = [buyer, seller];
      }
      let volume = 0;
      for (const { userId, token } of [one!, other!])
        volume += (await stage.api.get(`/users/${userId}`, token)).json.volume;
      expect(volume * 0.005).toBeLessThanOrEqual(fee + 1e-6);
      return `50,000 dollars went to and fro; the volume is ${volume}, its fee ${fee}`;
    },
  },
  {
    name: 'a dollar in an empty vault earns next to nothing of a fee of one’s own',
    attack: async (stage) => {
      const [staker, maker] = await users(stage, 2);
      const { token, userId } = staker!;
      const { json } = await stage.api.post('/vaults/flex/stake', { amount: 1 }, token);
      let marketId = '';
      await eventually(async () => {
        const [market] = (await stage.api.get('/markets/15m?asset=BTC')).json.markets;
        if (market !== undefined && market.endsAtMs >= json.earnsFromMs) marketId = market.id;
        return marketId !== '';
      }, NO_MARKET_MS);
      const terms = { price: 0.5, shares: 20_000 };
      const rests = { ...terms, outcome: 'DOWN', timeInForce: 'GTC' };
      await done(stage.order(maker!, marketId, 'buy', rests));
      const order = stage.order(staker!, marketId, 'buy', { ...terms, outcome: 'UP' });
      const { fee } = await done(order);
      await eventually(async () => {
        return (await stage.api.get(`/markets/${marketId}`)).json.status === 'resolved';
      });
      const vaults = await stage.api.get(`/users/${userId}/vaults`, token);
      const earned = vaults.json.deposits[0].accruedYield;
      expect(earned).toBeLessThanOrEqual(0.01);
      return `a dollar earned ${earned} of a fee of ${fee}`;
    },
  },
  {
    name: 'a small order far above the others blocks no upcoming book',
    attack: async (stage) => {
      const [attacker, ...others] = await users(stage, 4);
      let accepted = 0;
      for (const marketId of await upcomingMarkets(stage, 3)) {
        const rests = { timeInForce: 'GTC', postOnly: true };
        const far = { ...rests, outcome: 'UP', price: 0.97, shares: 3 };
        await done(stage.order(attacker!, marketId, 'buy', far));
        const down = { outcome: 'DOWN', price: 0.35, shares: 10, timeInForce: 'GTC' };
        const first = await done(stage.order(others[0]!, marketId, 'buy', down));
        // The house buys what the attacker offers, at the attacker's price.
        expect([first.shares, first.averagePrice]).toEqual([3, 0.03]);
        for (const other of others) {
          await done(stage.order(other, marketId, 'buy', { ...down, postOnly: true }));
          accepted++;
        }
      }
      return `${accepted} of 9 orders that only rest were accepted`;
    },
  },
  {
    name: 'a private account that trades tells nothing of it',
    attack: async (stage) => {
      const [trader, maker] = await users(stage, 2);
      const { userId, token } = trader!;
      const path = `/users/${userId}`;
      const hidden = { private: true, listed: false };
      expect((await stage.api.put(`${path}/privacy`, hidden, token)).status).toBe(200);
      const marketId = await stage.openMarket(MARKET_MS);
      const offer = { outcome: 'DOWN', price: 0.5, shares: 1_000, timeInForce: 'GTC' };
      await done(stage.order(maker!, marketId, 'buy', offer));
      const seen = new Set<string>();
      const look = async () => {
        const { json } = await stage.api.get(path);
        const { sequence: _, atMs: __, ...shown } = json;
        seen.add(JSON.stringify(shown));
        for (const list of ['positions', 'trades', 'referral', 'vaults']) {
          const { status } = await stage.api.get(`${path}/${list}`);
          expect([list, status]).toEqual([list, 401]);
        }
        for (const metric of ['volume', 'profit', 'points'])
          for (const period of ['day', 'all']) {
            const board = await stage.api.get(`/leaderboard?metric=${metric}&period=${period}`);
            expect(board.text).not.toContain(`"${userId}"`);
          }
      };
      for (let i = 1; i <= 10; i++) {
        await done(stage.order(trader!, marketId, 'buy', { outcome: 'UP', amount: i }));
        await look();
      }
      expect(seen.size).toBe(1);
      return `10 trades: ${[...seen][0]}`;
    },
  },
];
