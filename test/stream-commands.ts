/** Random trading for the tests of the stream: orders of every kind around the middle, cancels and batches. Seeded. */
import type { BatchOperation, Command } from '../engine/commands.js';
import { Outcome, TimeInForce } from '../engine/domain.js';
import type { Engine } from '../engine/engine.js';
import { uniformRandom } from '../gateway/feeds/random.js';
import { batch, buy, sell } from './engine-support.js';

export interface Dice {
  /** An integer from `least` to `most`. */
  roll(least: number, most: number): number;
  chance(probability: number): boolean;
}

export function dice(seed: string): Dice {
  const random = uniformRandom(seed);
  return {
    roll: (least, most) => least + Math.floor(random() * (most - least + 1)),
    chance: (probability) => random() < probability,
  };
}

export interface Trading {
  engine: Engine;
  marketId: number;
  /** User ids 1 to this one trade. */
  users: number;
  dice: Dice;
}

export function randomCommand(trading: Trading): Command {
  const userId = trading.dice.roll(1, trading.users);
  if (!trading.dice.chance(0.15)) return randomOperation(trading, userId);
  const operations = Array.from({ length: trading.dice.roll(1, 8) }, () => randomOperation(trading, userId));
  return batch(userId, operations, trading.dice.chance(0.5));
}

function randomOperation(trading: Trading, userId: number): BatchOperation {
  return (trading.dice.chance(0.25) ? randomCancel(trading, userId) : null) ?? randomOrder(trading, userId);
}

function randomCancel({ engine, marketId, dice }: Trading, userId: number): BatchOperation | null {
  const orders = engine.orders(userId).filter((order) => order.marketId === marketId);
  if (orders.length === 0) return null;
  const { orderId } = orders[dice.roll(0, orders.length - 1)]!;
  return { kind: 'cancel', userId, idempotencyKey: null, marketId, orderId };
}

function randomOrder({ engine, marketId, dice }: Trading, userId: number): BatchOperation {
  const outcome = dice.chance(0.5) ? Outcome.UP : Outcome.DOWN;
  const rests = dice.chance(0.75);
  const timeInForce = rests ? TimeInForce.GTC : TimeInForce.IOC;
  const position = engine.position(userId, marketId);
  const held = outcome === Outcome.UP ? position?.upHeldLots : position?.downHeldLots;
  const owned = outcome === Outcome.UP ? position?.upLots : position?.downLots;
  const free = (owned ?? 0) - (held ?? 0);
  const sizeLots = rests ? dice.roll(1, 20) * 500 : dice.roll(1, 10) * 500;
  if (free > 0 && dice.chance(0.5)) {
    const priceTicks = rests ? dice.roll(490, 600) : 1;
    return sell({ userId, marketId, outcome, sizeLots: Math.min(free, sizeLots), priceTicks, timeInForce });
  }
  const priceTicks = rests ? dice.roll(400, 510) : 999;
  return buy({ userId, marketId, outcome, sizeLots, priceTicks, timeInForce });
}
