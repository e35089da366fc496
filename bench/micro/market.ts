/** The market used by the timings: a hundred price levels on each side, and three results. */
import type { Engine } from '../../engine/engine.js';
import type { Batch, Buy, Command } from '../../engine/interface/commands.js';
import { Outcome, TimeInForce } from '../../engine/interface/domain.js';
import { MICROS_PER_DOLLAR } from '../../engine/interface/limits.js';
import { OrderResult } from '../../engine/interface/results.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';
import {
  buyOrder,
  mustApply,
  openMarket,
  WINDOW_START_MS,
} from '../../test/support/workload/open-market.js';

const MAKER = 1;
export const TAKER = 2;
export const OPERATIONS = 100;
const LEVELS = 100;
const BEST_TICKS = 499;

/** A command and a copy of its result: the engine keeps only the last one. */
export interface Done<Sent extends Command> {
  command: Sent;
  result: NumberBuffer;
}

export interface Market {
  engine: Engine;
  marketId: number;
  buy: Done<Buy>;
  cancel: Done<Command>;
  batch: Done<Batch>;
}

export function market(): Market {
  const { engine, marketId } = openMarket(TAKER, 1_000_000 * MICROS_PER_DOLLAR);
  const apply = <Sent extends Command>(command: Sent): Done<Sent> => {
    mustApply(engine, command, WINDOW_START_MS + 1_000);
    const result = new NumberBuffer();
    result.write(...engine.result.values.subarray(0, engine.result.length));
    return { command, result };
  };
  const resting = { userId: MAKER, marketId, timeInForce: TimeInForce.GTC };
  for (let i = 0; i < LEVELS; i++)
    for (const outcome of [Outcome.UP, Outcome.DOWN])
      apply(
        buyOrder({ ...resting, outcome, priceTicks: BEST_TICKS - i, sizeLots: 12_500 + 10 * i }),
      );
  // Each order on the book's other side has 12.5 shares or slightly more.
  const buy = apply(buyOrder({ userId: TAKER, marketId, sizeLots: 30_250 }));
  const { values } = apply(buyOrder({ ...resting, priceTicks: 300, sizeLots: 5 })).result;
  const user = { userId: TAKER, idempotencyKey: null };
  const orderId = values[OrderResult.orderId]!;
  const cancel = apply({ ...user, kind: 'cancel', userId: MAKER, marketId, orderId });
  const operations = Array.from({ length: OPERATIONS }, (_, i) => {
    const order = { userId: TAKER, marketId, sizeLots: 10 + i };
    const isResting = i % 2 === 0;
    return buyOrder(
      isResting ? { ...order, ...resting, userId: TAKER, priceTicks: 100 + i } : order,
    );
  });
  const batch = apply<Batch>({ ...user, kind: 'batch', operations, atomic: false });
  return { engine, marketId, buy, cancel, batch };
}
