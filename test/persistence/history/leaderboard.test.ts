/** Leaderboards against a plain sort: ranks, pages, ties, and the start of days and weeks. */
import { describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import { decodeEvents } from '../../../engine/interface/events.js';
import { Metric, Period } from '../../../engine/state/accounts.js';
import {
  Leaderboards,
  type MetricName,
  type PeriodName,
} from '../../../persistence/history/leaderboard/leaderboard.js';
import { type Ranked, RankedUsers } from '../../../persistence/history/leaderboard/order.js';
import { at, buy, eventsOf, openMarket, price } from '../../support/engine-support.js';
import { dayOfCommands } from '../../support/history-oracle.js';

const METRICS = Object.keys(Metric) as MetricName[];
const PERIODS = Object.keys(Period) as PeriodName[];

function sorted(values: Map<number, number>): Ranked[] {
  return [...values]
    .map(([userId, value]) => ({ userId, value }))
    .sort((a, b) => b.value - a.value || a.userId - b.userId);
}

/** Equal values share a rank. */
function rankIn(list: readonly Ranked[], value: number): number {
  return list.findIndex((one) => one.value === value) + 1;
}

function expectOrder(ranked: RankedUsers, values: Map<number, number>): void {
  const list = sorted(values);
  expect(ranked.slice(0, list.length + 1)).toEqual(list);
  for (const { userId, value } of list) {
    expect(ranked.rankOf(userId)).toBe(rankIn(list, value));
    expect(ranked.valueOf(userId)).toBe(value);
  }
}

describe('the sorted list of users', () => {
  it('with many users, splits blocks and removes empty ones', () => {
    const ranked = new RankedUsers();
    const values = new Map<number, number>();
    const users = 10_000;
    let state = 1;
    const next = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state % below;
    };
    for (let i = 0; i < 60_000; i++) {
      const userId = 1 + next(users);
      const to = next(3_000) - 1_500;
      ranked.set(userId, to);
      values.set(userId, to);
    }
    expectOrder(ranked, values);
    for (let userId = 1; userId <= users; userId++) {
      if (userId % 50 === 0) continue;
      ranked.set(userId, null);
      values.delete(userId);
    }
    expectOrder(ranked, values);
    expect(ranked.slice(100, 7)).toEqual(sorted(values).slice(100, 107));
    expect(ranked.rankOf(1)).toBeNull();
    expect(ranked.countBefore(0, 2_000)).toBe(0);
    expect(ranked.countBefore(0, -2_000)).toBe(values.size);
  });
});

/** The board, built by reading every user and sorting. */
function naive(engine: Engine, metric: MetricName, period: PeriodName): Ranked[] {
  const values = new Map<number, number>();
  for (let userId = 1; userId <= engine.userCount; userId++) {
    const standing = engine.standing(userId, Metric[metric], Period[period]);
    if (standing !== null) values.set(userId, standing);
  }
  return sorted(values);
}

/** A trade between a resting maker and a taker, which the boards count. */
function trade(
  engine: Engine,
  boards: Leaderboards,
  { maker, taker, lots = 1_000, atMs = at(1_000) }: Traded,
): void {
  const common = { marketId: engine.activeMarket(0), sizeLots: lots, priceTicks: 500 };
  const rest = { ...common, outcome: Outcome.DOWN, timeInForce: TimeInForce.GTC };
  engine.apply(buy({ ...rest, userId: maker }), atMs);
  engine.apply(buy({ ...common, userId: taker }), atMs);
  expect(eventsOf(engine, 'trade').length).toBe(1);
  noteChanges(engine, boards);
}

interface Traded {
  maker: number;
  taker: number;
  lots?: number;
  atMs?: number;
}

function noteChanges(engine: Engine, boards: Leaderboards): void {
  for (const event of decodeEvents(engine.events)) {
    if (event.type === 'trade') {
      boards.changed(event.takerId);
      boards.changed(event.makerId);
    } else if (event.type === 'positionSettled' || event.type === 'pointsCredited') {
      boards.changed(event.userId);
    }
  }
}

function expectBoards(engine: Engine, boards: Leaderboards): number {
  let listed = 0;
  for (const metric of METRICS) {
    for (const period of PERIODS) {
      const list = naive(engine, metric, period);
      listed += list.length;
      const ranks = list.map((entry) => ({ rank: rankIn(list, entry.value), ...entry }));
      expect(boards.of(metric, period).page(1_000, null), `${metric} ${period}`).toEqual(ranks);
      const after = list[1];
      if (after !== undefined)
        expect(boards.of(metric, period).page(3, after)).toEqual(ranks.slice(2, 5));
      for (const { userId, rank } of ranks.slice(0, 5)) {
        expect(boards.of(metric, period).rankOf(userId)).toBe(rank);
      }
    }
  }
  return listed;
}

describe('the boards', () => {
  it('follow the engine through two days and the night between them', () => {
    const engine = new Engine();
    const boards = new Leaderboards(engine);
    let most = 0;
    let empty = 0;
    for (const [i, { command, atMs }] of dayOfCommands().entries()) {
      engine.apply(command, atMs);
      noteChanges(engine, boards);
      if (i % 200 === 0) most = Math.max(most, expectBoards(engine, boards));
      if (boards.of('volume', 'day').page(1, null).length === 0) empty++;
    }
    expectBoards(engine, boards);
    expect(most).toBeGreaterThan(200);
    // After a day without trades the daily board is empty, but the all-time board is not.
    expect(empty).toBeGreaterThan(10);
    expect(boards.of('volume', 'day').page(1, null)).toEqual([]);
    expect(boards.of('volume', 'all').page(1, null).length).toBe(1);
  });

  it('are made ready in turns while the engine goes on', async () => {
    const users = 80_000;
    const { engine } = openMarket(users);
    const boards = new Leaderboards(engine);
    const tradeOf = (maker: number) =>
      trade(engine, boards, { maker, taker: maker + 1, lots: 1_000 + (maker % 7) });
    for (let maker = 1; maker < users; maker += 200) tradeOf(maker);
    expect(boards.of('volume', 'day').isReady).toBe(false);
    let calls = 0;
    const prepare = () =>
      boards.of('volume', 'day').prepare(
        () => calls++,
        (error) => expect.unreachable(String(error)),
      );
    let turns = 0;
    for (prepare(); calls === 0; turns++) {
      expect(boards.of('volume', 'day').isReady).toBe(false);
      // Users who were read already, and new ones.
      for (let maker = 2 + turns; maker < users; maker += 100) tradeOf(maker);
      prepare();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect([turns > 1, calls, boards.of('volume', 'day').isReady]).toEqual([true, 1, true]);
    const listed = naive(engine, 'volume', 'day');
    const page = boards.of('volume', 'day').page(listed.length + 1, null);
    expect(page.map(({ userId, value }) => ({ userId, value }))).toEqual(listed);
  });

  it('pages continue by value and user, even if the last entry of a page has moved', () => {
    const maker = 6;
    const { engine } = openMarket(maker);
    const boards = new Leaderboards(engine);
    const buyBoth = (one: number, other: number, lots: number) => {
      for (const taker of [one, other]) trade(engine, boards, { maker, taker, lots });
    };
    buyBoth(1, 2, 1_000);
    buyBoth(3, 4, 2_000);
    const first = boards.of('volume', 'all').page(2, null);
    expect(first.map(({ userId, rank }) => [userId, rank])).toEqual([
      [3, 1],
      [4, 1],
    ]);
    const second = boards.of('volume', 'all').page(2, first[1]!);
    expect(second.map(({ userId, rank }) => [userId, rank])).toEqual([
      [1, 3],
      [2, 3],
    ]);
    buyBoth(4, 5, 5_000);
    // User 4 has moved up and user 5 is new; the users after user 4 still appear once.
    expect(boards.of('volume', 'all').page(2, first[1]!)).toEqual(
      second.map((entry) => ({ ...entry, rank: entry.rank + 1 })),
    );
    // Resting orders pay no fee: their trades rank by profit only.
    expect(boards.of('volume', 'all').rankOf(maker)).toBeNull();
    expect(boards.of('points', 'all').rankOf(maker)).toBeNull();
    expect(boards.of('profit', 'all').rankOf(maker)).toBe(1);
    expect(boards.of('volume', 'all').page(10, { userId: 99, value: -1 })).toEqual([]);
  });

  it('the day ends at midnight UTC, and the week on Sunday, to the millisecond', () => {
    const { engine } = openMarket(2);
    const boards = new Leaderboards(engine);
    const ranks = (atMs: number) => {
      engine.apply({ kind: 'advanceTime' }, atMs);
      noteChanges(engine, boards);
      return [boards.of('volume', 'day').rankOf(2), boards.of('volume', 'week').rankOf(2)];
    };
    // A market is open until Sunday midnight, and nothing happens then but its end.
    const monday = Date.UTC(2025, 10, 24);
    engine.apply(price(100_000, monday - 60_000), monday - 900_000 + 840_000);
    expect(engine.activeMarket(0)).not.toBe(0);
    trade(engine, boards, { maker: 1, taker: 2, atMs: monday - 1 });
    expect(ranks(monday - 1)).toEqual([1, 1]);
    expect(ranks(monday)).toEqual([null, null]);
    expect(boards.of('volume', 'all').rankOf(2)).toBe(1);
  });
});
