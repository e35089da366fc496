/**
 * Reads at their edges: what does not exist, the names of orders, numbers as texts. The others are
 * compared by the differential test.
 */
import { expect, test } from 'vitest';
import type { Command } from '../../engine/interface/commands.js';
import { OrderEnd, Outcome, TimeInForce, WINDOW_MS } from '../../engine/interface/domain.js';
import { ORDERS_REMEMBERED } from '../../engine/interface/limits.js';
import { Metric, Period } from '../../engine/state/accounts.js';
import { RecentOrders } from '../../engine/state/book/recent-orders.js';
import { UndoLog } from '../../engine/storage/undo.js';
import { at, buy, openMarket, price, registration, run } from '../support/engine-support.js';

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
