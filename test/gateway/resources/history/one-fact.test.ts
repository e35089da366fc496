/**
 * Facts reported in several places are the same everywhere: orders, trades, positions, balances and
 * markets, from the engine, the history and the stream, field by field, after random commands of
 * every kind, at several moments of a market's life.
 */
import { afterAll, expect, test } from 'vitest';
import type { Command } from '../../../../engine/interface/commands.js';
import { SelfTrade } from '../../../../engine/interface/domain.js';
import { SEED } from '../../../support/extent.js';
import {
  PARTNER_KEY,
  PARTNER_KEYS,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../../support/server.js';
import { Random } from '../../../support/workload/random.js';
import { randomCommand } from '../../stream/commands.js';
import { type Message, StreamClient } from '../../stream/support.js';

const seedName = `SEED=${SEED}`;
const random = new Random(SEED);
const COMMANDS = 60;

/** At least two places must report each field, or the test does not look where it should. */
const COMPARED = {
  order: [
    'amount averagePrice clientOrderId closedAtMs expiresAtMs fee filledShares groupId isOpen',
    'marketId orderId',
    'originalShares outcome placedAtMs postOnly price reason received restingShares selfTrade',
    'shares sharesAhead side spent status timeInForce userId',
  ],
  trade: ['atMs matchType outcome price shares side tradeId value'],
  position: [
    'asset atMs averagePrice cost endsAtMs marketId outcome payout positionId price shares status',
    'unrealizedProfit value',
  ],
  balance: ['available held'],
  market: [
    'asset assetPrice averageSoFar bestAsk bestBid curveFeeRate endPrice endsAtMs feeRate id',
    'indicative lotSize makerFeeRate openInterest paused priceHistory prices pricesFrom resolution resolvedAtMs startPrice',
    'startPriceFinal startsAtMs status tickSize title type voidReason volume',
  ],
  user: ['profit rank userId username volume'],
};

/** Facts by kind, id and field, each with the place that reported it first. */
class Facts {
  private readonly told = new Map<string, { place: string; text: string }>();
  readonly compared = new Map<string, Set<string>>();
  readonly problems: string[] = [];

  add(place: string, kind: string, id: string, fields: Message): void {
    for (const [field, value] of Object.entries(fields)) {
      const fact = `${kind} ${id} ${field}`;
      const text = JSON.stringify(value);
      const first = this.told.get(fact);
      if (first === undefined) {
        this.told.set(fact, { place, text });
        continue;
      }
      if (first.place === place) continue;
      const ofKind = this.compared.get(kind) ?? new Set();
      this.compared.set(kind, ofKind.add(field));
      if (first.text === text) continue;
      this.problems.push(`${fact}: ${first.text} at ${first.place}, ${text} at ${place}`);
    }
  }
}

const server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
server.feed.deliver('ETH', 3_000);
const traders = [await server.register('ann'), await server.registerByPartner('ben')];
const referral = await server.api.read(`/users/${traders[0]!.userId}/referral`, traders[0]!.token);
traders.push(await server.register('cal', referral.json.code), await server.register('dee'));
afterAll(() => server?.stop());

test(`one fact, one value (${seedName})`, async () => {
  const compared = new Map<string, Set<string>>();
  const look = async (moment: string) => {
    const facts = await allFacts();
    expect(facts.problems, `${moment}, ${seedName}`).toEqual([]);
    for (const [kind, fields] of facts.compared)
      compared.set(kind, new Set([...(compared.get(kind) ?? []), ...fields]));
  };
  for (let round = 0; round < 2; round++) {
    trade();
    await look(`while the first market trades, round ${round}`);
  }
  const endsAtMs = WINDOW_START_MS + WINDOW_MS;
  await server.passTime(endsAtMs, 100_100);
  await look('when the market has ended');
  await server.passTime(endsAtMs + 60_000, 100_200);
  trade();
  await look('in the second market');
  await server.passTime(endsAtMs + WINDOW_MS + 2_000, 100_000);
  await look('when both have ended');
  const sorted = [...compared].map(([kind, fields]) => [kind, [...fields].sort().join(' ')]);
  expect(Object.fromEntries(sorted)).toEqual(
    Object.fromEntries(Object.entries(COMPARED).map(([kind, lines]) => [kind, lines.join(' ')])),
  );
});

/** Random commands of users, each a few milliseconds after the previous one. */
function trade(): void {
  const { engine } = server.exchange.sequencer;
  const markets = [0, 1].map((asset) => engine.activeMarket(asset)).filter((id) => id !== 0);
  for (let i = 0; i < COMMANDS; i++) {
    server.clock.set(server.clock.nowMs() + random.whole(0, 40));
    if (random.chance(0.05)) server.feed.deliver('BTC', 100_000 + random.whole(-50, 50));
    server.submit(command(random.pick(markets)));
  }
}

function command(marketId: number): Command {
  const { engine } = server.exchange.sequencer;
  const userId = Number(random.pick(traders).userId.slice(1));
  const user = { userId, idempotencyKey: null };
  if (random.chance(0.06)) {
    const last = engine.orders(userId).at(-1)?.orderId ?? 1;
    return random.pick<Command>([
      { kind: 'stake', ...user, amountMicros: random.whole(1, 20) * 1_000_000 },
      { kind: 'setCancelAfter', ...user, timeoutMs: 1_000 * random.whole(1, 5) },
      { kind: 'cancelAll', ...user, marketId },
      { kind: 'cancelEverywhere', ...user },
      { kind: 'cancelDisconnected', userId, lastOrderId: last },
      { kind: 'operatorCancel', userId, operator: 'op', reason: 'a test' },
    ]);
  }
  const trading = { engine, marketId, users: traders.length, random };
  const made = randomCommand(trading);
  if (made.kind !== 'buy' && made.kind !== 'sell') return made;
  const isGtc = made.timeInForce === 2;
  const named = random.chance(0.3) ? { clientOrderId: `c-${random.whole(1, 9_999)}` } : {};
  const expires = isGtc && random.chance(0.3) ? { expiresAtMs: server.clock.nowMs() + 900 } : {};
  return { ...made, ...named, ...expires, selfTrade: random.pick(Object.values(SelfTrade)) };
}

async function allFacts(): Promise<Facts> {
  await server.advance();
  await server.followed();
  const facts = new Facts();
  for (const trader of traders) await factsOf(facts, trader);
  await marketFacts(facts);
  return facts;
}

async function factsOf(facts: Facts, { userId, token }: Trader): Promise<void> {
  const client = await StreamClient.connect(server.exchange.port);
  client.send({ op: 'auth', token });
  await client.subscribe('user');
  const [{ data }] = client.of('user');
  await client.close();
  const addOrders = (place: string, orders: Message[]) => {
    for (const order of orders) facts.add(place, 'order', order.orderId, order);
  };
  addOrders('stream', data.orders);
  addOrders('orders', await server.api.all(`/users/${userId}/orders?`, 'orders', token));
  addOrders('open', await server.api.all(`/users/${userId}/orders?status=open&`, 'orders', token));
  const everyOrder = await server.api.all(`/users/${userId}/orders?status=all&`, 'orders', token);
  addOrders('all', everyOrder);
  for (const { orderId } of everyOrder.slice(0, 8)) {
    const { json } = await server.api.read(`/users/${userId}/orders/${orderId}`, token);
    facts.add('one order', 'order', orderId, without(json, 'sequence', 'atMs', 'trades'));
  }

  const addPositions = (place: string, positions: Message[]) => {
    for (const one of positions)
      facts.add(place, 'position', `${userId} ${one.marketId} ${one.outcome}`, one);
  };
  for (const { outcomes } of data.positions) addPositions('stream', outcomes);
  addPositions(
    'positions',
    await server.api.all(`/users/${userId}/positions?`, 'positions', token),
  );

  for (const one of await server.api.all(`/users/${userId}/trades?`, 'trades', token)) {
    // A maker may trade the other outcome, at another price.
    const fields =
      one.role === 'taker' ? one : { tradeId: one.tradeId, atMs: one.atMs, shares: one.shares };
    facts.add(`trades of ${userId}`, 'trade', one.tradeId, without(fields, 'marketId'));
  }

  const balance = async (place: string, path: string, headers = {}) => {
    const { json } = await server.api.send('GET', path, undefined, { token, headers });
    const { available, held } = json.balance ?? json;
    facts.add(place, 'balance', userId, { available, held });
  };
  facts.add('stream', 'balance', userId, data.balance);
  await balance('balance', `/users/${userId}/balance`);
  const { json } = await server.api.read(`/users/${userId}/ledger?limit=1`, token);
  facts.add('ledger', 'balance', userId, json.entries[0].balance);
  if (userId === traders[1]!.userId)
    await balance('partner', `/partner/users/${userId}`, {
      authorization: `Bearer ${PARTNER_KEY}`,
    });

  const profile = await server.api.read(`/users/${userId}`);
  const { username, volume, realizedProfit: profit, rank } = profile.json;
  facts.add('profile', 'user', userId, { userId, username, volume, profit, rank });
}

async function marketFacts(facts: Facts): Promise<void> {
  const addMarkets = (place: string, markets: Message[]) => {
    for (const one of markets) facts.add(place, 'market', one.id, without(one, 'sequence', 'atMs'));
  };
  const client = await StreamClient.connect(server.exchange.port);
  await client.subscribe('markets');
  const [{ data }] = client.of('markets');
  await client.close();
  addMarkets('stream', data.markets);
  addMarkets('active', (await server.api.read('/markets/15m')).json.markets);
  const markets = await server.api.all('/markets?', 'markets');
  addMarkets('list', markets);
  addMarkets('history', await server.api.all('/markets/15m/history?', 'markets'));
  for (const { id, status } of markets) {
    addMarkets('one market', [(await server.api.read(`/markets/${id}`)).json]);
    for (const one of await server.api.all(`/markets/15m/${id}/trades?`, 'trades'))
      facts.add('tape', 'trade', one.tradeId, one);
    if (status !== 'resolved') continue;
    const events = await server.api.all(`/markets/15m/${id}/events?`, 'events');
    for (const one of events.filter(({ type }) => type === 'trade'))
      facts.add('events', 'trade', one.tradeId, without(one, 'sequence', 'type'));
  }
  for (const metric of ['profit', 'volume']) {
    const { json } = await server.api.read(`/leaderboard?metric=${metric}`);
    for (const { userId, username, rank, value } of json.entries) {
      const isProfit = metric === 'profit';
      const told = isProfit ? { rank, profit: value } : { volume: value };
      facts.add(`by ${metric}`, 'user', userId, { userId, username, ...told });
    }
  }
}

function without(fields: Message, ...names: string[]): Message {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
