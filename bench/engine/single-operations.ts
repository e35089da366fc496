/** Single operations on a book of constant depth, a thousand a sample; restoring is not timed. */
import { Bench } from 'tinybench';
import type { Buy, Cancel } from '../../engine/interface/commands.js';
import { Outcome, Side, TimeInForce } from '../../engine/interface/domain.js';
import { MAX_ORDER_LOTS, MICROS_PER_DOLLAR } from '../../engine/interface/limits.js';
import { OrderResult } from '../../engine/interface/results.js';
import type { Part } from '../measure/report.js';
import {
  buyOrder,
  mustApply,
  type OpenMarket,
  openMarket,
  WINDOW_START_MS,
} from '../workload/open-market.js';

const OPERATIONS = 1_000;
const MAKERS = 200;
const TAKER = MAKERS + 1;
/** Resting orders before the timed operations, on 200 levels, half on each side. */
const DEPTH = 10_000;
const FUNDS_MICROS = 10_000_000 * MICROS_PER_DOLLAR;
const AT_MS = WINDOW_START_MS + 1_000;
const LOTS = 10;

export async function singleOperations(): Promise<Part> {
  const book = new SteadyBook(openMarket(MAKERS + 1, FUNDS_MICROS));
  const bench = new Bench({ time: 500, warmupTime: 300, throws: true });
  const add = (
    name: string,
    fn: () => void,
    hooks: { beforeEach?: () => void; afterEach?: () => void } = {},
  ) => bench.add(name, fn, { async: false, ...hooks });
  add('rest', () => book.rest(), { afterEach: () => book.cancel() });
  add('cancel', () => book.cancel(), { beforeEach: () => book.rest() });
  add('take one', () => book.take(), { beforeEach: () => book.offer() });
  add('quote', () => book.quote());
  await bench.run();

  const figures: Record<string, number> = {};
  const rows = bench.tasks.map((task) => {
    if (task.result.state !== 'completed')
      throw new Error(`the benchmark ${task.name} is ${task.result.state}`);
    const { p50, p99, rme } = task.result.latency;
    const perSecond = (OPERATIONS / p50) * 1_000;
    figures[`${task.name.replace(' o', 'O')}PerSecond`] = perSecond;
    const nanoseconds = (ms: number) => (ms / OPERATIONS) * 1e6;
    return [task.name, perSecond, nanoseconds(p50), nanoseconds(p99), `± ${rme.toFixed(1)}%`];
  });
  return {
    table: {
      title: `Single operations, samples of ${OPERATIONS} each, ${DEPTH} orders resting on 200 levels (tinybench)`,
      columns: ['operation', 'per second', 'ns (median)', 'ns (p99)', 'error'],
      rows,
    },
    figures,
  };
}

/** A book of {@link DEPTH} orders away from the middle, and the operations in front of it. */
class SteadyBook {
  private readonly orderIds = new Float64Array(OPERATIONS);
  private readonly resting: Buy;
  private readonly taking: Buy;
  private readonly cancelling: Cancel;

  constructor(private readonly market: OpenMarket) {
    const { engine, marketId } = market;
    const timeInForce = TimeInForce.GTC;
    const taking = { userId: TAKER, outcome: Outcome.DOWN, budgetMicros: LOTS * 500 };
    this.resting = buyOrder({ userId: 1, marketId, sizeLots: LOTS, priceTicks: 400, timeInForce });
    this.taking = buyOrder({ ...taking, marketId });
    this.cancelling = { kind: 'cancel', userId: 1, idempotencyKey: null, marketId, orderId: 0 };
    for (let i = 0; i < DEPTH; i++) {
      const order = buyOrder({
        userId: 1 + (i % MAKERS),
        marketId,
        outcome: i % 2 === 0 ? Outcome.UP : Outcome.DOWN,
        sizeLots: LOTS * (1 + (i % 7)),
        priceTicks: 300 + ((i >> 1) % 100),
        timeInForce,
      });
      mustApply(engine, order, AT_MS);
    }
  }

  /** Places orders on a hundred levels in front of the others. */
  rest(): void {
    for (let i = 0; i < OPERATIONS; i++) this.restOne(i, 400 + (i % 100));
  }

  offer(): void {
    for (let i = 0; i < OPERATIONS; i++) this.restOne(i, 500);
  }

  cancel(): void {
    const { engine } = this.market;
    for (let i = 0; i < OPERATIONS; i++) {
      this.cancelling.userId = 1 + (i % MAKERS);
      this.cancelling.orderId = this.orderIds[i]!;
      mustApply(engine, this.cancelling, AT_MS);
    }
  }

  take(): void {
    for (let i = 0; i < OPERATIONS; i++) mustApply(this.market.engine, this.taking, AT_MS);
  }

  quote(): void {
    const { engine, marketId } = this.market;
    for (let i = 0; i < OPERATIONS; i++) {
      const view = engine.quote({
        marketId,
        side: Side.BUY,
        outcome: Outcome.UP,
        budgetMicros: 10_000 + i,
        sizeLots: MAX_ORDER_LOTS,
        priceTicks: 999,
        userId: TAKER,
      });
      if (view === null || view.fillCount === 0) throw new Error('the quote finds nothing');
    }
  }

  private restOne(i: number, priceTicks: number): void {
    const { engine } = this.market;
    this.resting.userId = 1 + (i % MAKERS);
    this.resting.priceTicks = priceTicks;
    this.resting.budgetMicros = LOTS * priceTicks;
    mustApply(engine, this.resting, AT_MS);
    this.orderIds[i] = engine.result.values[OrderResult.orderId]!;
  }
}
