/**
 * Statements and order histories of a random exchange, line by line against an engine: balances at
 * every sequence, lines against the changes in the events, shares against positions, and every
 * order against its results and events. The follower is restarted in the middle. SEED repeats a
 * run.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { OrderStatus } from '../../../engine/interface/domain.js';
import { CAUSES } from '../../../persistence/history/account/changes.js';
import type { LedgerLine, LedgerPage } from '../../../persistence/history/account/ledger.js';
import { OrderState, type OrdersPage } from '../../../persistence/history/account/orders.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { SEED } from '../../support/extent.js';
import {
  all,
  startFollower,
  type TestFollower,
  writeCommands,
} from '../../support/follower-fixture.js';
import type { TimedCommand } from '../../support/history-oracle.js';
import { Folders } from '../../support/journal-fixture.js';
import { OrderOracle } from '../../support/order-oracle.js';
import { randomDay, type Scenario, USUAL } from '../../support/random-commands.js';

const START_MS = 1_763_700_300_000;
const SCENARIO: Scenario = {
  ...USUAL,
  name: 'a day with outages',
  commands: 9_000,
  assets: 2,
  users: 9,
  grantMicros: 2_000_000_000,
  stepMs: 4_000,
  silenceShare: 0.001,
  priceShare: 0.15,
  outageShare: 0.02,
  maxRestingOrders: 60,
  stakeWeight: 1,
  unstakeWeight: 0.8,
};

const folders = new Folders();
let oracle: OrderOracle;
let follower: TestFollower;
/** Statements by user, oldest entry first. */
const statements = new Map<number, LedgerLine[]>();
const users = () => Array.from({ length: oracle.engine.userCount }, (_, i) => i + 1);

/**
 * A day with everything that the tests check. If the exchange was paused for hours, or a user
 * frozen, another day is tried.
 */
function fullDay(): TimedCommand[] {
  for (let i = 0; i < 20; i++) {
    const commands = [...randomDay(`${SEED}:${i}`, SCENARIO, START_MS)];
    oracle = new OrderOracle();
    for (const command of commands) oracle.apply(command);
    if (isFull(oracle)) return commands;
  }
  throw new Error(`20 days and none is full, SEED=${SEED}`);
}

function isFull({ amended, expired, changes, orders }: OrderOracle): boolean {
  const causes = new Set([...changes.values()].flat().map(({ cause }) => cause));
  const marketsOf = (userId: number) =>
    new Set([...orders.values()].filter((o) => o.userId === userId).map((o) => o.marketId)).size;
  // The users whose lists are filtered.
  const areBusy = [2, 3, 4, 5].every((userId) => marketsOf(userId) > 12);
  const hasCauses = causes.size === CAUSES.length;
  return amended > 50 && expired > 20 && areBusy && hasCauses;
}

function ledger(userId: number, limit: number, filter: object = {}): Promise<LedgerLine[]> {
  const request = { fromMs: null, toMs: null, marketId: null, cause: null, ...filter };
  return all<LedgerLine>(
    (cursor) =>
      follower.read({ kind: 'ledger', userId, limit, cursor, ...request }) as Promise<LedgerPage>,
  );
}

beforeAll(async () => {
  const commands = fullDay();
  const folder = folders.make();
  const journal = await openJournal({ folder });
  const writer = new Engine();
  const half = Math.floor(commands.length / 2);
  await writeCommands(journal, writer, commands.slice(0, half));
  const first = startFollower(folder, half);
  await first.read({ kind: 'userTrades', userId: 1, limit: 1, cursor: null });
  await first.close();
  await writeCommands(journal, writer, commands.slice(half));
  await journal.close();
  follower = startFollower(folder, commands.length);
  for (const userId of users()) statements.set(userId, (await ledger(userId, 200)).reverse());
});

afterAll(async () => {
  await follower.close();
  folders.removeAll();
});

describe('the statement', () => {
  it('adds up to the balance at every sequence', () => {
    for (const userId of users()) {
      const lines = statements.get(userId)!;
      let [availableMicros, heldMicros] = [0, 0];
      const after = new Map<number, { availableMicros: number; heldMicros: number }>();
      for (const line of lines) {
        availableMicros += line.availableMicros;
        heldMicros += line.heldMicros;
        expect(line.balance, `u${userId} at ${line.sequence}`).toEqual({
          availableMicros,
          heldMicros,
        });
        expect(availableMicros).toBeGreaterThanOrEqual(0);
        expect(heldMicros).toBeGreaterThanOrEqual(0);
        after.set(line.sequence, line.balance);
      }
      let at = { availableMicros: 0, heldMicros: 0 };
      const noted = oracle.balances.get(userId)!;
      const sequences = new Set([...after.keys(), ...noted.map(({ sequence }) => sequence)]);
      let next = 0;
      let known = { availableMicros: 0, heldMicros: 0 };
      for (const sequence of [...sequences].sort((a, b) => a - b)) {
        at = after.get(sequence) ?? at;
        for (; next < noted.length && noted[next]!.sequence <= sequence; next++) {
          const { sequence: _, ...balance } = noted[next]!;
          known = balance;
        }
        expect(at, `u${userId} at ${sequence}`).toEqual(known);
      }
    }
  });

  it('has the changes of all events, in their order', () => {
    for (const userId of users()) {
      const lines = statements.get(userId)!.map(({ position, balance, atMs, ...change }) => change);
      expect(lines, `u${userId}`).toEqual(oracle.changes.get(userId) ?? []);
    }
  });

  it('adds up to the shares of the positions', () => {
    for (const userId of users()) {
      const sums = new Map<string, number>();
      for (const { marketId, shares } of statements.get(userId)!) {
        if (shares === null) continue;
        const name = `${marketId} ${shares.outcome}`;
        sums.set(name, (sums.get(name) ?? 0) + shares.lots);
      }
      const open = [...sums].filter(([, lots]) => lots !== 0).sort();
      const settling = new Set(oracle.shares(userId).keys());
      expect(
        open.filter(([name]) => settling.has(name)),
        `u${userId}`,
      ).toEqual([...oracle.shares(userId)].sort());
    }
  });

  it('is the same in pages of any length', async () => {
    for (const limit of [1, 7, 64]) {
      const userId = limit === 1 ? 9 : 2;
      expect((await ledger(userId, limit)).reverse()).toEqual(statements.get(userId));
    }
  });
});

describe('the orders', () => {
  const expectedOf = (userId: number) =>
    [...oracle.orders.values()].filter((order) => order.userId === userId).reverse();
  const read = (userId: number, limit: number, filter: object = {}) =>
    all(
      (cursor) =>
        follower.read({
          kind: 'userOrders',
          userId,
          limit,
          cursor,
          status: 'all',
          clientOrderId: null,
          marketId: null,
          fromMs: null,
          toMs: null,
          ...filter,
        }) as Promise<OrdersPage>,
    );

  it('are what results and events said of them', async () => {
    const ends = new Set<number>();
    const details = new Set<string>();
    for (const userId of users()) {
      const expected = expectedOf(userId);
      const found = await read(userId, 50);
      expect(found.map(({ orderId }) => orderId)).toEqual(expected.map(({ orderId }) => orderId));
      const ahead = oracle.engine.lotsAhead(oracle.engine.orderIds(userId));
      for (const [i, { end, reason, aheadLots, ...order }] of found.entries()) {
        const { reason: wanted, ...rest } = expected[i]!;
        expect(order, `o${order.orderId}`).toEqual(rest);
        expect(aheadLots).toBe(ahead.get(order.orderId) ?? null);
        ends.add(end);
        expect(end === OrderState.OPEN).toBe(rest.closedAtMs === null);
        const dropped = reason === 0 ? null : reason;
        const given = {
          [OrderState.CANCELLED]: reason,
          [OrderState.UNFILLED]: dropped,
          [OrderState.TRADE_LIMIT]: -OrderStatus.TRADE_LIMIT,
          [OrderState.TOO_SMALL_TO_REST]: -OrderStatus.TOO_SMALL_TO_REST,
        };
        expect(given[end as keyof typeof given] ?? null).toBe(wanted);
        if (end === OrderState.FILLED) expect(order.filledLots).toBe(order.originalLots);
        if (end === OrderState.OPEN) continue;
        for (const name of ['clientOrderId', 'expiresAtMs'] as const)
          if (order[name] !== null) details.add(name);
        details.add(`selfTrade ${order.selfTrade}`);
      }
    }
    expect(ends.size).toBeGreaterThanOrEqual(3);
    // Details that are read from the journal, for single orders and for operations of batches.
    expect(details.size).toBe(5);
    expect(oracle.amended).toBeGreaterThan(50);
    expect(oracle.expired).toBeGreaterThan(20);
  });

  it('take filters, and are found by their ids', async () => {
    const userId = 4;
    const expected = expectedOf(userId);
    const ids = (orders: readonly { orderId: number }[]) => orders.map(({ orderId }) => orderId);
    const closed = expected.filter(({ closedAtMs }) => closedAtMs !== null);
    expect(ids(await read(userId, 11, { status: 'closed' }))).toEqual(ids(closed));
    const at = (share: number) => expected[Math.floor(expected.length * share)]!;
    const { marketId } = at(0.6);
    expect(ids(await read(userId, 3, { marketId }))).toEqual(
      ids(expected.filter((order) => order.marketId === marketId)),
    );
    const [fromMs, toMs] = [at(0.8).placedAtMs, at(0.3).placedAtMs];
    expect(ids(await read(userId, 9, { fromMs, toMs }))).toEqual(
      ids(expected.filter(({ placedAtMs }) => placedAtMs >= fromMs && placedAtMs <= toMs)),
    );
    for (const order of expected.filter((_, i) => i % 17 === 0)) {
      const found = await follower.read({ kind: 'userOrder', userId, orderId: order.orderId });
      expect(found).toMatchObject({ orderId: order.orderId, filledLots: order.filledLots });
    }
    const others = [...oracle.orders.values()].filter((order) => order.userId !== userId);
    for (const orderId of [...others.slice(0, 20).map((order) => order.orderId), 999_999_999])
      expect(await follower.read({ kind: 'userOrder', userId, orderId })).toBeNull();
  });
});
