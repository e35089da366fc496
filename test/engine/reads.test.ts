/**
 * Edge cases of reads: ids that do not exist, order ids of clients, numbers as texts. The
 * differential test compares all other reads.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import type { Command } from '../../engine/interface/commands.js';
import {
  OrderEnd,
  Outcome,
  TimeInForce,
  TokenState,
  WINDOW_MS,
} from '../../engine/interface/domain.js';
import { MAX_QUEUE_ROWS, ORDERS_REMEMBERED } from '../../engine/interface/limits.js';
import {
  idNumber,
  isMarketName,
  marketIdNumber,
  marketIdText,
  microsText,
} from '../../engine/interface/notation.js';
import { clientOrderIdInAmendment, FIRST_OPERATION } from '../../engine/interface/results.js';
import { Metric, Period } from '../../engine/state/accounts.js';
import { RecentOrders } from '../../engine/state/book/recent-orders.js';
import { UndoLog } from '../../engine/storage/undo.js';
import { at, batch, buy, openMarket, price, registration, run } from '../support/engine-support.js';

test('numbers and ids as texts, and back', () => {
  expect(microsText(-Number.MAX_SAFE_INTEGER)).toBe('-9007199254.740991');
  expect(microsText(9_007_199_254_000_000)).toBe('9007199254');
  expect(['u12', 'o12', 'u012'].map((text) => idNumber('u', text))).toEqual([12, 0, 0]);
  const { engine, marketId } = openMarket(1);
  const name = marketIdText(engine, marketId);
  const names = [name, 'btc', 'btc-15m-7', name.replace('btc', 'eth')];
  expect(names.map(isMarketName)).toEqual([true, false, false, true]);
  expect(names.map((text) => marketIdNumber(engine, text))).toEqual([marketId, 0, 0, 0]);
});

test('what does not exist yet, and an account of the exchange', () => {
  const engine = new Engine();
  expect(engine.orderNamed(1, 'mine')).toBe(0);
  engine.apply({ kind: 'listAsset', symbol: 'BTC' }, at(0));
  expect(engine.assetPriceObservedAtMs(0)).toBeNull();
  expect([0, -1].map((asset) => engine.heldPrice(asset))).toEqual([null, null]);
  expect([engine.token(1), engine.tokenState(1)]).toEqual([null, TokenState.REVOKED]);
});

test('the exchange itself has no standing, and what markets shared with the vault is counted', () => {
  const { engine, marketId } = openMarket(2);
  run(engine, { ...registration('house', 100), credential: '' } as Command);
  run(engine, { kind: 'stake', userId: 2, amountMicros: 1_000_000, idempotencyKey: null });
  const atMs = at(2 * WINDOW_MS);
  for (let ms = at(0); ms <= atMs; ms += 30_000) run(engine, price(100_000, ms), ms);
  const next = { marketId: engine.activeMarket(0), sizeLots: 1_000, priceTicks: 500 };
  run(engine, buy({ userId: 3, ...next, outcome: Outcome.DOWN, timeInForce: TimeInForce.GTC }));
  run(engine, buy({ userId: 1, ...next }));
  const standings = [1, 3].map((id) => engine.standing(id, Metric.volume, Period.all));
  expect(standings).toEqual([500_000, null]);
  for (let ms = atMs; ms <= atMs + WINDOW_MS + 2_000; ms += 2_000)
    run(engine, price(100_000, ms), ms);
  expect(engine.assetPriceObservedAtMs(0)).toBe(engine.nowMs);
  // 40% of the fee of 2,500.
  expect(engine.vaultShareMicros(atMs)).toBe(1_000);
  expect([engine.vaultShareMicros(engine.nowMs), engine.market(marketId) === null]).toEqual([
    0,
    false,
  ]);
});

test('a place in the queue is counted from its nearer end, as far as the maximum allows', () => {
  const users = MAX_QUEUE_ROWS + 10;
  const { engine, marketId } = openMarket(users);
  const order = { marketId, priceTicks: 400, timeInForce: TimeInForce.GTC };
  for (let userId = 1; userId <= users; userId++)
    run(engine, buy({ ...order, userId, sizeLots: 2_500 + userId }));
  const before = (orderId: number) => 2_500 * (orderId - 1) + (orderId * (orderId - 1)) / 2;
  const half = MAX_QUEUE_ROWS / 2;
  for (const orderId of [1, 2, half, half + 1, users - half, users - 1, users])
    expect(engine.lotsAhead([orderId]).get(orderId)).toBe(before(orderId));
  expect(engine.lotsAhead([half + 2])).toEqual(new Map([[half + 2, null]]));
  expect(engine.makersSeen).toBe(MAX_QUEUE_ROWS);
  // The orders of a read share the maximum. The first and the last order of a level need no walk.
  expect([...engine.lotsAhead([half + 1, 2, users]).values()]).toEqual([
    before(half + 1),
    null,
    before(users),
  ]);
});

test("a client's name for an order while it rests, when it ends, and in amendments", () => {
  const { engine, marketId } = openMarket(2);
  const order = (fields = {}) =>
    buy({
      userId: 1,
      marketId,
      sizeLots: 1_000,
      priceTicks: 400,
      timeInForce: TimeInForce.GTC,
      ...fields,
    });
  for (const fields of [{ clientOrderId: 'mine' }, {}]) run(engine, order(fields));
  const nameOf = () => [1, 2, 3].map((orderId) => engine.clientOrderId(orderId));
  expect(nameOf()).toEqual(['mine', null, null]);
  const amend = (orderId: number, sizeLots: number) =>
    ({ kind: 'amend', userId: 1, marketId, orderId, sizeLots, priceTicks: 0 }) as const;
  const key = { idempotencyKey: null };
  for (const [orderId, name] of [
    [1, 'mine'],
    [2, null],
  ] as const) {
    run(engine, { ...amend(orderId, 900), ...key });
    expect(clientOrderIdInAmendment(engine.result, 0)).toBe(name);
    run(engine, batch(1, [{ ...amend(orderId, 800), ...key }]));
    expect(clientOrderIdInAmendment(engine.result, FIRST_OPERATION)).toBe(name);
  }
  expect(['mine', 'other'].map((name) => engine.orderNamed(1, name))).toEqual([1, 0]);
  run(engine, { kind: 'cancel', userId: 1, marketId, orderId: 1, ...key });
  expect(nameOf()).toEqual(['mine', null, null]);
  run(engine, { kind: 'advanceTime' });
  expect(nameOf()).toEqual([null, null, null]);
});

test('how an order ended is not kept when its place has been given to a later one', () => {
  const undo = new UndoLog();
  const lastIds = undo.block(2);
  const recent = new RecentOrders(undo, lastIds);
  const [early, late] = [1, 1 + ORDERS_REMEMBERED];
  lastIds[0] = late;
  recent.end(late, 7, 64, OrderEnd.FILLED);
  recent.end(early, 8, 64, OrderEnd.UNFILLED);
  expect([recent.endOf(late, 7, 64), recent.endOf(early, 8, 64)]).toEqual([OrderEnd.FILLED, -1]);
});
