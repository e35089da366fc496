/**
 * Seeded random trading for the stream tests: orders of every kind around the middle, cancels,
 * amendments and batches.
 */

import type { Engine } from '../../../engine/engine.js';
import type { BatchOperation, Command } from '../../../engine/interface/commands.js';
import { Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import { batch, buy, sell } from '../../support/engine-support.js';
import type { Random } from '../../support/workload/random.js';

export interface Trading {
  engine: Engine;
  marketId: number;
  /** User ids 1 to this number trade. */
  users: number;
  random: Random;
}

export function randomCommand(trading: Trading): Command {
  const userId = trading.random.whole(1, trading.users);
  if (!trading.random.chance(0.15)) return randomOperation(trading, userId);
  const operations = Array.from({ length: trading.random.whole(1, 8) }, () =>
    randomOperation(trading, userId),
  );
  return batch(userId, operations, trading.random.chance(0.5));
}

function randomOperation(trading: Trading, userId: number): BatchOperation {
  return (
    (trading.random.chance(0.25) ? randomCancel(trading, userId) : null) ??
    randomOrder(trading, userId)
  );
}

function randomCancel(
  { engine, marketId, random }: Trading,
  userId: number,
): BatchOperation | null {
  const orders = engine.orders(userId).filter((order) => order.marketId === marketId);
  if (orders.length === 0) return null;
  const order = orders[random.whole(0, orders.length - 1)]!;
  const { orderId, filledLots, originalLots, priceTicks } = order;
  if (random.chance(0.4)) {
    const sizeLots = Math.max(
      1,
      random.chance(0.1) ? filledLots : originalLots + 500 * random.whole(-3, 3),
    );
    const amended = random.chance(0.6) ? 0 : Math.min(999, priceTicks + random.whole(0, 60));
    const head = { kind: 'amend' as const, userId, idempotencyKey: null, marketId, orderId };
    return { ...head, sizeLots, priceTicks: amended };
  }
  return { kind: 'cancel', userId, idempotencyKey: null, marketId, orderId };
}

function randomOrder({ engine, marketId, random }: Trading, userId: number): BatchOperation {
  const outcome = random.chance(0.5) ? Outcome.UP : Outcome.DOWN;
  const rests = random.chance(0.75);
  const timeInForce = rests ? TimeInForce.GTC : TimeInForce.IOC;
  const position = engine.position(userId, marketId);
  const held = outcome === Outcome.UP ? position?.upHeldLots : position?.downHeldLots;
  const owned = outcome === Outcome.UP ? position?.upLots : position?.downLots;
  const free = (owned ?? 0) - (held ?? 0);
  const sizeLots = rests ? random.whole(1, 20) * 500 : random.whole(1, 10) * 500;
  if (free > 0 && random.chance(0.5)) {
    const priceTicks = rests ? random.whole(490, 600) : 1;
    return sell({
      userId,
      marketId,
      outcome,
      sizeLots: Math.min(free, sizeLots),
      priceTicks,
      timeInForce,
    });
  }
  const priceTicks = rests ? random.whole(400, 510) : 999;
  return buy({ userId, marketId, outcome, sizeLots, priceTicks, timeInForce });
}
