/**
 * A day of real prices through the built program at high speed, with clients that trade, claim and keep their own books
 * over HTTP. At its end: every market as the file says, every balance as the books say, every trade that HTTP told in the journal and
 * no other, and no micro-dollar made or lost at any market's settlement.
 *
 * REAL_DAY_SEED repeats the clients' choices. How much is traded depends on the machine, what has to hold does not.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../engine/engine.js';
import { decodeEvents } from '../engine/events.js';
import {
  DAY_FILE,
  DAY_MS,
  DAY_START_MS,
  type ExpectedMarket,
  expectedMarkets,
  QUARTER_MS,
} from './day-prices.js';
import { Dice, seedOf } from './dice.js';
import { replayJournal } from './journal-replay.js';
import { MarketWatch } from './market-watch.js';
import { type ApiClient, ChildServer, eventually } from './server.js';
import { TradingClient } from './trading-client.js';

const SEED = seedOf('REAL_DAY_SEED');
const CLIENTS = 8;
const STARTING_BALANCE = 10_000;
const HOUSE_FUNDS = 1_000_000;
/** The day takes a minute and a half. */
const SPEED = 1_000;
/** Every second client leaves its winnings of these many first markets to be paid by themselves, a day later. */
const PATIENT_MARKETS = 4;
/** The last of them is paid 24 h and 2 s after its end. */
const WATCH_UNTIL_MS = DAY_START_MS + DAY_MS + PATIENT_MARKETS * QUARTER_MS + 60_000;
const LIMIT_MS = 300_000;

interface Status {
  sequence: number;
  digest: string;
}

let folder: string;
let server: ChildServer;
let api: ApiClient;
let watch: MarketWatch;
let clients: TradingClient[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exchange-day-'));
  server = ChildServer.spawn({
    DATA_FOLDER: folder,
    ASSETS: 'BTC',
    PRICE_FEED: `file:${DAY_FILE}`,
    FEED_SPEED: `${SPEED}`,
    STARTING_BALANCE: `${STARTING_BALANCE}`,
    HOUSE_FUNDS: `${HOUSE_FUNDS}`,
    LOG_LEVEL: 'warn',
  });
  api = await server.listening();
  watch = new MarketWatch(api);
  watch.start();
  const names = Array.from({ length: CLIENTS }, (_, i) => `trader-${i}`);
  clients = await Promise.all(names.map((name) => TradingClient.register(api, name, new Dice(SEED + name))));
});

afterAll(async () => {
  await api?.close();
  await server?.stop('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** Trades each market as it comes, and claims what was resolved, until the watch is over. */
async function trade(client: TradingClient, dice: Dice, isPatient: boolean): Promise<void> {
  const claimed = new Set<string>();
  while (watch.nowMs < WATCH_UNTIL_MS) {
    watch.check();
    const { active } = watch;
    if (active !== null) await client.act(active.id);
    await claimResolved(client, claimed, isPatient);
    await new Promise((resolve) => setTimeout(resolve, dice.whole(5, 80)));
  }
  await claimResolved(client, claimed, isPatient);
  await client.endResting();
}

async function claimResolved(client: TradingClient, claimed: Set<string>, isPatient: boolean): Promise<void> {
  for (const { id, startsAtMs, resolution } of watch.resolved.values()) {
    if (claimed.has(id) || (isPatient && isLeft(startsAtMs))) continue;
    claimed.add(id);
    await client.claim(id, resolution!);
  }
}

const isLeft = (startsAtMs: number) => startsAtMs < DAY_START_MS + PATIENT_MARKETS * QUARTER_MS;

/** Enters the payments that came by themselves: of markets that the exchange has forgotten since. */
async function enterPayments(client: TradingClient): Promise<number> {
  let payments = 0;
  for (const id of client.ledger.marketIds()) {
    const { resolution } = watch.resolved.get(id)!;
    await eventually(async () => (await api.get(`/markets/15m/${id}/orderbook`)).status === 404);
    if (client.ledger.owed(id, resolution!).payout.gt(0)) payments++;
    client.ledger.paid(id, resolution!);
  }
  return payments;
}

/** Whose money is whose adds up to what came in. */
function checkMoney(engine: Engine): void {
  engine.checkInvariants();
  let users = 0;
  for (let userId = 1; userId <= engine.userCount; userId++) {
    const { availableMicros, heldMicros } = engine.account(userId)!;
    users += availableMicros + heldMicros;
  }
  const { collateralMicros, feeEscrowMicros, stakedMicros, yieldDueMicros, treasuryMicros } = engine.funds();
  const pots = collateralMicros + feeEscrowMicros + stakedMicros + yieldDueMicros + treasuryMicros;
  const hasHouse = engine.findUser('house') === 0 ? 0 : 1;
  const paidIn = hasHouse * HOUSE_FUNDS + (engine.userCount - hasHouse) * STARTING_BALANCE;
  expect(users + pots).toBe(paidIn * 1_000_000);
}

function asSeen(market: ExpectedMarket): object {
  const { id, startPrice, endPrice, resolution } = market;
  return { id, startPrice: startPrice.toNumber(), endPrice: endPrice?.toNumber() ?? null, resolution };
}

function counted(): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const client of clients) {
    for (const [what, count] of client.counts) sums[what] = (sums[what] ?? 0) + count;
  }
  const rested = clients.reduce((sum, { ledger }) => sum + ledger.makerShares.toNumber(), 0);
  sums['shares filled while resting'] = Math.round(rested);
  return Object.fromEntries(Object.entries(sums).sort());
}

describe(`a real day, REAL_DAY_SEED=${SEED}`, () => {
  test('markets, balances and money are what the file and the books say', { timeout: LIMIT_MS }, async () => {
    const expected = expectedMarkets();
    await Promise.all(clients.map((client, i) => trade(client, new Dice(`${SEED}:${i}`), i % 2 === 1)));
    await watch.stop();
    let payments = 0;
    for (const client of clients) payments += await enterPayments(client);

    const seen = [...watch.resolved.values()].sort((a, b) => a.startsAtMs - b.startsAtMs);
    const brief = seen.map(({ id, startPrice, endPrice, resolution }) => ({
      id,
      startPrice,
      endPrice,
      resolution,
    }));
    expect(brief).toEqual(expected.map(asSeen));
    for (const client of clients) await client.checkBalance();

    const status: Status = (await api.get('/status')).json;
    expect(await server.stop()).toBe(0);
    expect(server.stderr).not.toMatch(/"level":[56]0/);
    const settled = await replayDay(status);

    const outcomes = (name: string) => seen.filter((market) => market.resolution === name).length;
    const traded = seen.filter((market) => market.volume > 0).length;
    const counts = counted();
    process.stdout.write(
      `the real day: ${seen.length - 1} markets and the one after it: ${outcomes('UP')} UP, ${outcomes('DOWN')} DOWN, ` +
        `${outcomes('VOID')} VOID; ${traded} traded, ${settled} settled; ${payments} paid by themselves; ` +
        `${JSON.stringify(counts)}\n`,
    );
    expect([seen.length, outcomes('VOID')]).toEqual([97, 1]);
    expect(settled).toBe(97);
    expect(outcomes('UP')).toBeGreaterThan(20);
    expect(outcomes('DOWN')).toBeGreaterThan(20);
    expect(traded).toBeGreaterThan(48);
    for (const what of ['buy plain filled', 'sell plain filled', 'buy GTC resting', 'sell GTC resting']) {
      expect(counts[what], what).toBeGreaterThan(20);
    }
    for (const what of ['resting orders cancelled', 'resting orders gone', 'claimed UP', 'claimed DOWN']) {
      expect(counts[what], what).toBeGreaterThan(20);
    }
    expect(counts['shares filled while resting'], 'shares filled while resting').toBeGreaterThan(100);
  });
});

/** Holds the journal against what HTTP told; how many markets were settled in it. */
async function replayDay(status: Status): Promise<number> {
  let settled = 0;
  let digest = '';
  const trades = new Map<string, Map<string, { price: number; shares: number }>>();
  const engine = await replayJournal(folder, (engine) => {
    if (engine.sequence === status.sequence) digest = engine.digest();
    for (const event of decodeEvents(engine.events)) {
      if (event.type === 'trade') {
        const ticks = event.takerOutcome === 0 ? event.upTicks : 1_000 - event.upTicks;
        const userId = `u${event.takerId}`;
        const fills = trades.get(userId) ?? new Map();
        trades.set(
          userId,
          fills.set(`t${event.tradeId}`, { price: ticks / 1_000, shares: event.sizeLots / 1_000 }),
        );
      } else if (event.type === 'feesShared' || event.type === 'marketResolved') {
        checkMoney(engine);
        if (event.type === 'feesShared') settled++;
      }
    }
  });
  checkMoney(engine);
  expect(digest).toBe(status.digest);
  const taken = clients.filter((client) => client.ledger.taken.size > 0);
  expect([...trades.keys()].sort()).toEqual(taken.map((client) => client.userId).sort());
  for (const { ledger } of taken) expect(ledger.taken).toEqual(trades.get(ledger.userId));
  for (const { ledger } of clients) {
    const account = engine.account(Number(ledger.userId.slice(1)))!;
    expect([account.availableMicros, account.heldMicros]).toEqual([
      ledger.total.times(1_000_000).toNumber(),
      0,
    ]);
  }
  return settled;
}
