/** The longest command while a million orders come to rest, twice: the machine's pauses differ. */
import { TimeInForce } from '../../engine/interface/domain.js';
import { MAX_OPEN_ORDERS_PER_USER, MICROS_PER_DOLLAR } from '../../engine/interface/limits.js';
import type { Part } from '../measure/report.js';
import { buyOrder, mustApply, openMarket, WINDOW_START_MS } from '../workload/open-market.js';

const ORDERS = 1_100_000;
const USERS = Math.ceil(ORDERS / MAX_OPEN_ORDERS_PER_USER);
const ROUNDS = 2;
const BOUNDS = [10_000, 100_000, 200_000, 400_000, 800_000, ORDERS];

export function growth(): Part {
  const least = new Float64Array(ORDERS).fill(Number.POSITIVE_INFINITY);
  const last = new Float64Array(ORDERS);
  for (let round = 0; round < ROUNDS; round++) {
    fill(last);
    for (let i = 0; i < ORDERS; i++) least[i] = Math.min(least[i]!, last[i]!);
  }
  const longestIn = (latencyMs: Float64Array, from: number, to: number) =>
    latencyMs.subarray(from, to).reduce((longest, ms) => Math.max(longest, ms), 0);
  return {
    table: {
      title: `Growth: the longest single apply while ${ORDERS.toLocaleString('en-US')} orders come to rest, in milliseconds`,
      columns: ['resting orders', 'longest', `longest in each of ${ROUNDS} rounds`],
      rows: BOUNDS.map((to, i) => {
        const from = i === 0 ? 0 : BOUNDS[i - 1]!;
        const label = `${from.toLocaleString('en-US')} to ${to.toLocaleString('en-US')}`;
        return [label, longestIn(last, from, to), longestIn(least, from, to)];
      }),
    },
    figures: { growthLongestInEveryRoundMs: longestIn(least, 0, ORDERS) },
  };
}

function fill(latencyMs: Float64Array): void {
  const { engine, marketId } = openMarket(USERS, 1_000 * MICROS_PER_DOLLAR);
  engine.reserve();
  const order = buyOrder({ userId: 1, marketId, sizeLots: 1, timeInForce: TimeInForce.GTC });
  globalThis.gc?.();
  for (let i = 0; i < ORDERS; i++) {
    order.userId = 1 + (i % USERS);
    order.priceTicks = 1 + (i % 500);
    order.budgetMicros = order.priceTicks;
    const startedMs = performance.now();
    mustApply(engine, order, WINDOW_START_MS + 1_000);
    latencyMs[i] = performance.now() - startedMs;
  }
}
