/** Operations on a book of constant depth, compared with a ladder. Restoring is untimed. */
import { Outcome, Side, TimeInForce } from '../../engine/interface/domain.js';
import { MICROS_PER_DOLLAR, UNSIZED_LOTS } from '../../engine/interface/limits.js';
import { CommandList } from '../../test/support/workload/command-list.js';
import { buyOrder, openMarket, WINDOW_START_MS } from '../../test/support/workload/open-market.js';
import { OrderTape } from '../../test/support/workload/order-tape.js';
import type { Start } from '../measure/race.js';
import type { Part } from '../measure/report.js';
import { type Contestant, compare } from './comparison.js';
import { Ladder } from './ladder.js';

const OPERATIONS = 1_000;
const ROUNDS = 200;
const WARM_UP_ROUNDS = 100;
const MAKERS = 200;
const TAKER = MAKERS + 1;
/** On 200 levels, half on each side. */
const DEPTH = 10_000;
const FUNDS_MICROS = 10_000_000 * MICROS_PER_DOLLAR;
const AT_MS = WINDOW_START_MS + 1_000;
const LOTS = 10;

type Operation = 'fill' | 'rest' | 'cancel' | 'offer' | 'take';

export function singleOperations(): Part {
  return compare({
    title: `Single operations, samples of ${OPERATIONS} each, ${DEPTH} orders resting on 200 levels`,
    rate: 'PerSecond',
    rounds: ROUNDS,
    warmUpRounds: WARM_UP_ROUNDS,
    chunks: 1,
    contestants: [
      sampled('rest', 'rest', { timed: 'rest', after: 'cancel' }),
      sampled('cancel', 'cancel', { before: 'rest', timed: 'cancel' }),
      sampled('take one', 'takeOne', { before: 'offer', timed: 'take' }),
      quoting(),
    ],
  });
}

/** `before` and `after` are untimed. */
function sampled(
  name: string,
  figure: string,
  { before, timed, after }: { before?: Operation; timed: Operation; after?: Operation },
): Contestant {
  const book = new SteadyBook();
  // In each round, the engine starts and finishes before the ladder.
  const start: Start = () => {
    if (before !== undefined) book.run(before);
    book.load(timed);
    return { length: OPERATIONS, advance: (from, to) => book.onEngine(from, to), finish() {} };
  };
  const ladder: Start = () => ({
    length: OPERATIONS,
    advance: (from, to) => book.onLadder(from, to),
    finish: () => {
      if (after !== undefined) book.run(after);
      book.check();
    },
  });
  return { name, figure, commands: OPERATIONS, start, ladder };
}

function quoting(): Contestant {
  const book = new SteadyBook();
  const start: Start = () => ({ length: OPERATIONS, advance: () => book.quote(), finish() {} });
  return { name: 'quote', figure: 'quote', commands: OPERATIONS, start, ladder: null };
}

/** {@link DEPTH} orders away from the middle, and the operations in front of them. */
class SteadyBook {
  private readonly market = openMarket(MAKERS + 1, FUNDS_MICROS);
  private readonly ladder: Ladder;
  private readonly commands = new CommandList(DEPTH);
  private readonly tape = new OrderTape();
  private readonly depthLots: number;

  constructor() {
    const orders = DEPTH + 2 * OPERATIONS * (ROUNDS + WARM_UP_ROUNDS);
    this.ladder = new Ladder({ orders, ladders: 2 });
    this.run('fill');
    this.depthLots = this.ladder.restingLots;
    this.check();
  }

  run(operation: Operation): void {
    this.load(operation);
    this.onEngine(0, this.commands.length);
    this.onLadder(0, this.tape.length);
  }

  onEngine(from: number, to: number): void {
    this.commands.applyTo(this.market.engine, from, to);
  }

  onLadder(from: number, to: number): void {
    this.ladder.run(this.tape, from, to);
  }

  load(operation: Operation): void {
    const { commands, tape } = this;
    commands.clear();
    tape.clear();
    const count = operation === 'fill' ? DEPTH : OPERATIONS;
    const firstId = tape.orders - OPERATIONS + 1;
    for (let i = 0; i < count; i++) {
      if (operation === 'cancel') this.cancel(1 + (i % MAKERS), firstId + i);
      else this.order(operation, i);
    }
  }

  private cancel(userId: number, orderId: number): void {
    const { marketId } = this.market;
    const command = { kind: 'cancel', userId, idempotencyKey: null, marketId, orderId } as const;
    this.commands.append(command, AT_MS);
    this.tape.cancel(orderId);
  }

  private order(operation: Exclude<Operation, 'cancel'>, i: number): void {
    const { marketId } = this.market;
    const rests = operation !== 'take';
    const isDown = operation === 'take' || (operation === 'fill' && i % 2 === 1);
    const command = buyOrder({
      userId: rests ? 1 + (i % MAKERS) : TAKER,
      marketId,
      outcome: isDown ? Outcome.DOWN : Outcome.UP,
      sizeLots: operation === 'fill' ? LOTS * (1 + (i % 7)) : LOTS,
      // A hundred levels in front of the others, or one that is taken.
      priceTicks: { fill: 300 + ((i >> 1) % 100), rest: 400 + (i % 100), offer: 500, take: 999 }[
        operation
      ],
      timeInForce: rests ? TimeInForce.GTC : TimeInForce.IOC,
    });
    this.commands.append(command, AT_MS);
    this.tape.order({ ...command, side: Side.BUY, lots: command.sizeLots, rests });
  }

  quote(): void {
    const { engine, marketId } = this.market;
    for (let i = 0; i < OPERATIONS; i++) {
      const view = engine.quote({
        marketId,
        side: Side.BUY,
        outcome: Outcome.UP,
        budgetMicros: 10_000 + i,
        sizeLots: UNSIZED_LOTS,
        priceTicks: 999,
        userId: TAKER,
      });
      if (view === null || view.fillCount === 0) throw new Error('the quote finds nothing');
    }
  }

  /** Only the depth must be left. */
  check(): void {
    const { engine, marketId } = this.market;
    const { bids, asks } = engine.depth(marketId, 1_000)!;
    const lots = [...bids, ...asks].reduce((sum, level) => sum + level.sizeLots, 0);
    if (lots === this.depthLots && this.ladder.restingLots === lots) return;
    throw new Error(`${lots} and ${this.ladder.restingLots} lots rest, not ${this.depthLots}`);
  }
}
