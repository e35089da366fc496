/**
 * What the exchange says at the end of a day, compared with the price file, the users' books and
 * the trades that HTTP reported.
 */
import { Big } from 'big.js';
import { expect } from 'vitest';
import type { RealDay } from './day.js';
import { DAY_MS, type ExpectedMarket } from './day-prices.js';
import {
  type DecidedMarket,
  ExpectedStandings,
  HOUSE,
  type HttpTrade,
  METRICS,
} from './expected-standings.js';
import type { SeenMarket } from './market-watch.js';
import type { TradingClient } from './trading-client.js';
import { expectDecimal } from './user-ledger.js';

const RESOLVES_AFTER_MS = 2_000;
const VOID_AFTER_MS = 60_000;
const PAGE = 200;

/**
 * The first markets have the prices and the resolution that follow from the file. Returns all, in
 * order of time.
 */
export function checkMarkets({ watch }: RealDay, expected: ExpectedMarket[]): SeenMarket[] {
  const seen = [...watch.resolved.values()].sort((a, b) => a.startsAtMs - b.startsAtMs);
  const brief = seen.map(({ id, startPrice, endPrice, resolution }) => ({
    id,
    startPrice,
    endPrice,
    resolution,
  }));
  expect(brief.slice(0, expected.length)).toEqual(expected.map(asSeen));
  return seen;
}

/** Every balance is that of the user's books, with what referrals earned. */
export async function checkBalances(day: RealDay, earned: Map<string, Big>): Promise<void> {
  for (const client of day.clients) {
    await client.checkBalance();
    await checkReferral(day, client, earned.get(client.userId)!);
  }
}

async function checkReferral(
  { api, referrers }: RealDay,
  { userId, token, codes }: TradingClient,
  earned: Big,
): Promise<void> {
  const { json } = await api.get(`/users/${userId}/referral`, token);
  const referredUsers = [...referrers.values()].filter((referrer) => referrer === userId).length;
  const referredBy = referrers.get(userId)!;
  expect(json).toMatchObject({ code: codes.at(-1)!, referredUsers, referredBy, pending: 0 });
  expectDecimal(json.earned, earned, `earned by ${userId}`);
}

/**
 * Every leaderboard, profile and list of points follows from the trades that HTTP reported. Returns
 * the sequence of the last leaderboard. `least`: each has more entries, unless its period began
 * after the last market.
 */
export async function checkStandings(
  day: RealDay,
  least: (period: string) => number,
): Promise<number> {
  const { api, clients, referrers, participants } = day;
  // The house is the first account. It trades, but is not ranked.
  const { json: house } = await api.read('/users/u1');
  expect(house).toMatchObject({ username: HOUSE, rank: null });
  for (const { userId, username } of [house, ...clients]) {
    const { entries } = await readList<HttpTrade>(day, `/users/${userId}/trades?`, 'trades');
    const referredBy = referrers.get(userId) ?? null;
    participants.push({ userId, username, referredBy, trades: entries.reverse() });
  }
  const expected = new ExpectedStandings(participants, decidedMarkets(day));
  let sequence = 0;
  const lastEndsAtMs = Math.max(...[...day.watch.resolved.values()].map((seen) => seen.endsAtMs));
  for (const metric of METRICS) {
    for (const period of ['all', 'day', 'week']) {
      const path = `/leaderboard?metric=${metric}&period=${period}&`;
      const { entries, json } = await readList(day, path, 'entries');
      sequence = json.sequence;
      const fromMs = startOf(period, json.atMs);
      expect(entries, `${metric}, ${period}`).toEqual(expected.board(metric, fromMs));
      // On a busy machine the exchange may be days further, with nothing in the period.
      if (fromMs <= lastEndsAtMs)
        expect(entries.length, `${metric}, ${period}`).toBeGreaterThan(least(period));
    }
  }
  await checkProfiles(day, expected);
  return sequence;
}

async function checkProfiles(day: RealDay, expected: ExpectedStandings): Promise<void> {
  const { api, clients, participants } = day;
  const ranks = new Map(expected.board('profit', 0).map(({ userId, rank }) => [userId, rank]));
  for (const { userId, trades } of participants) {
    const { json } = await api.read(`/users/${userId}`);
    expect(json).toMatchObject({
      volume: expected.total(userId, 'volume'),
      realizedProfit: expected.total(userId, 'profit'),
      trades: trades.length,
      rank: ranks.get(userId) ?? null,
    });
  }
  for (const { userId, token } of clients) {
    const path = `/users/${userId}/points?`;
    const { entries, json } = await readList<{ points: number }>(day, path, 'history', token);
    const sum = entries.reduce((points, entry) => points.plus(entry.points), new Big(0));
    expectDecimal(json.balance, sum, `points of ${userId}`);
    expect(json.balance).toBe(expected.total(userId, 'points'));
  }
}

/** All entries of a list, page by page, and the last page. */
async function readList<Entry>({ api }: RealDay, path: string, list: string, token?: string) {
  const entries: Entry[] = [];
  for (let cursor: string | null = ''; ; ) {
    const { json } = await api.read(`${path}limit=${PAGE}${cursor}`, token);
    entries.push(...json[list]);
    if (json.nextCursor === null) return { entries, json };
    cursor = `&cursor=${json.nextCursor}`;
  }
}

/**
 * When markets settled: with the first price after their resolution was due, at most seconds later.
 */
function decidedMarkets({ watch }: RealDay): Map<string, DecidedMarket> {
  const decided = [...watch.resolved.values()].map(({ id, endsAtMs, resolution }) => {
    const settledAtMs = endsAtMs + (resolution === 'VOID' ? VOID_AFTER_MS : RESOLVES_AFTER_MS);
    return [id, { resolution: resolution!, settledAtMs }] as const;
  });
  return new Map(decided);
}

function startOf(period: string, atMs: number): number {
  const dayMs = atMs - (atMs % DAY_MS);
  const weekday = (new Date(atMs).getUTCDay() + 6) % 7;
  return { all: 0, day: dayMs, week: dayMs - weekday * DAY_MS }[period]!;
}

function asSeen(market: ExpectedMarket): object {
  const { id, startPrice, endPrice, resolution } = market;
  return {
    id,
    startPrice: startPrice.toNumber(),
    endPrice: endPrice?.toNumber() ?? null,
    resolution,
  };
}
