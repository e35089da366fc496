/** Growth to a million resting orders: the longest command of each round, and the rate. */
import { Side, TimeInForce } from '../../engine/interface/domain.js';
import { MAX_OPEN_ORDERS_PER_USER, MICROS_PER_DOLLAR } from '../../engine/interface/limits.js';
import { ResultHead } from '../../engine/interface/results.js';
import { Samples } from '../../test/support/processes/samples.js';
import { CommandList } from '../../test/support/workload/command-list.js';
import { buyOrder, openMarket, WINDOW_START_MS } from '../../test/support/workload/open-market.js';
import { OrderTape } from '../../test/support/workload/order-tape.js';
import type { Part } from '../measure/report.js';
import { compare, engineStart } from './comparison.js';
import { ladderStart } from './ladder.js';

const ORDERS = 1_100_000;
const USERS = Math.ceil(ORDERS / MAX_OPEN_ORDERS_PER_USER);
const ROUNDS = 3;
const BOUNDS = [10_000, 100_000, 200_000, 400_000, 800_000, ORDERS];
const TITLE = `Growth, ${ORDERS.toLocaleString('en-US')} orders come to rest`;

export function growth(): Part[] {
  const { commands, tape } = restingOrders();
  const rounds = Array.from({ length: ROUNDS }, () => timeEach(commands));
  const latency = latencies(rounds.map(({ latencyMs }) => latencyMs));
  return [latency, rate(commands, tape, rounds[0]!.digest)];
}

function restingOrders(): { commands: CommandList; tape: OrderTape } {
  const commands = new CommandList(ORDERS);
  const tape = new OrderTape();
  const { marketId } = openMarket(1, MICROS_PER_DOLLAR);
  for (let i = 0; i < ORDERS; i++) {
    const priceTicks = 1 + (i % 500);
    const order = { userId: 1 + (i % USERS), marketId, sizeLots: 1, priceTicks };
    const command = buyOrder({ ...order, timeInForce: TimeInForce.GTC });
    commands.append(command, WINDOW_START_MS + 1_000);
    tape.order({ ...command, side: Side.BUY, lots: 1, rests: true });
  }
  tape.restingLots = ORDERS;
  return { commands, tape };
}

/** With its maximum room reserved, as at the exchange's start. */
function emptyBook() {
  const { engine } = openMarket(USERS, 1_000 * MICROS_PER_DOLLAR);
  engine.reserve();
  return engine;
}

function latencies(rounds: readonly Float64Array[]): Part {
  const least = rounds[0]!.map((ms, i) => Math.min(ms, ...rounds.map((round) => round[i]!)));
  const longest = (ms: Float64Array) => ms.reduce((most, each) => Math.max(most, each), 0);
  const rowOf = (label: string, from: number, to: number) => {
    const parts = rounds.map((round) => round.subarray(from, to));
    const all = new Samples();
    for (const part of parts) all.addAll(part);
    const inEveryRound = longest(least.subarray(from, to));
    return [label, all.percentile(0.999) * 1_000, ...parts.map(longest), inEveryRound] as const;
  };
  const rows = BOUNDS.map((to, i) => {
    const from = i === 0 ? 0 : BOUNDS[i - 1]!;
    return rowOf(`${from.toLocaleString('en-US')} to ${to.toLocaleString('en-US')}`, from, to);
  });
  const all = rowOf('all', 0, ORDERS);
  return {
    table: {
      title: `${TITLE}: how long a single apply takes, ${ROUNDS} rounds; the last column is the longest that was so long in every round`,
      columns: [
        'resting orders',
        'p99.9, µs',
        ...rounds.map((_, i) => `longest of round ${i + 1}, ms`),
        'in every round, ms',
      ],
      rows: [...rows, all],
    },
    figures: {
      growthP999Micros: all[1],
      growthLongestMs: Math.max(...rounds.map(longest)),
      growthLongestInEveryRoundMs: longest(least),
    },
  };
}

function timeEach(commands: CommandList): { latencyMs: Float64Array; digest: string } {
  const engine = emptyBook();
  const latencyMs = new Float64Array(ORDERS);
  globalThis.gc?.();
  for (let i = 0; i < ORDERS; i++) {
    const at = commands.at(i);
    const startedMs = performance.now();
    engine.applyRecord(commands.records, at);
    latencyMs[i] = performance.now() - startedMs;
    if (engine.result.values[ResultHead.code] !== 0) throw new Error(`order ${i + 1} is refused`);
  }
  return { latencyMs, digest: engine.digest() };
}

function rate(commands: CommandList, tape: OrderTape, digest: string): Part {
  return compare({
    title: TITLE,
    rate: 'CommandsPerSecond',
    rounds: ROUNDS,
    warmUpRounds: 0,
    chunks: 8,
    contestants: [
      {
        name: 'engine',
        figure: 'growth',
        commands: ORDERS,
        start: engineStart(emptyBook, { commands, digest }),
        ladder: ladderStart(tape),
      },
    ],
  });
}
