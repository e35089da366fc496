/** The end of a large market. Its work is spread over commands; the longest one delays others. */
import type { Engine } from '../../engine/engine.js';
import { Outcome, TimeInForce, WINDOW_MS } from '../../engine/interface/domain.js';
import type { EventName } from '../../engine/interface/events.js';
import { MICROS_PER_DOLLAR } from '../../engine/interface/limits.js';
import { Samples } from '../../test/support/processes/samples.js';
import { eachEvent } from '../../test/support/workload/events.js';
import {
  buyOrder,
  mustApply,
  type OpenMarket,
  observedPrice,
  openMarket,
  sellOrder,
  WINDOW_START_MS,
} from '../../test/support/workload/open-market.js';
import { type Part, tableOf } from '../measure/report.js';

const USERS = 100_000;
const FUNDS_MICROS = 1_000 * MICROS_PER_DOLLAR;
const LOTS = 1_000;
const ENDS_AT_MS = WINDOW_START_MS + WINDOW_MS;
const RESOLVES_AT_MS = ENDS_AT_MS + 2_000;
const PAYS_AT_MS = RESOLVES_AT_MS + 86_400_000;
const LONGEST_ALLOWED_MS = 5;
/** The first round runs cold code. */
const ROUNDS = 4;

export function endOfMarket(): Part {
  const rounds: Phase[][] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(endOne());
  const [cold, ...later] = rounds;
  const phases = cold!.map((first, i) =>
    summaryOf(
      first,
      later.map((round) => round[i]!),
    ),
  );
  const longestOf = (phase: PhaseSummary) => Math.max(phase.coldLongestMs, phase.longestMs);
  return {
    table: tableOf(
      `End of a market with ${USERS.toLocaleString('en-US')} resting orders and as many positions, ${ROUNDS} times: how long one command takes, in milliseconds`,
      phases,
      {
        phase: ({ name }) => name,
        'orders or positions': ({ units }) => units,
        commands: ({ commands }) => commands,
        sum: ({ sumMs }) => sumMs,
        p50: ({ p50Ms }) => p50Ms,
        'longest, cold code': ({ coldLongestMs }) => coldLongestMs,
        'longest, later': ({ longestMs }) => longestMs,
        'longest in every round': ({ floorLongestMs }) => floorLongestMs,
        [`< ${LONGEST_ALLOWED_MS} ms`]: (phase) =>
          longestOf(phase) < LONGEST_ALLOWED_MS ? 'yes' : 'NO',
      },
    ),
    figures: {
      marketEndLongestMs: Math.max(...phases.map(longestOf)),
      marketEndLongestInEveryRoundMs: Math.max(...phases.map((phase) => phase.floorLongestMs)),
    },
  };
}

type PhaseSummary = ReturnType<typeof summaryOf>;

function summaryOf(cold: Phase, later: readonly Phase[]) {
  const all = new Samples();
  for (const phase of later) all.addAll(phase.latencyMs);
  const floor = new Samples();
  floor.addAll(
    cold.latencyMs.map((ms, i) => Math.min(ms, ...later.map((phase) => phase.latencyMs[i]!))),
  );
  return {
    name: cold.name,
    units: cold.units,
    commands: cold.latencyMs.length,
    sumMs: all.sum() / later.length,
    p50Ms: all.percentile(0.5),
    coldLongestMs: Math.max(...cold.latencyMs),
    longestMs: all.max(),
    /** The longest of the commands' fastest times: the engine's doing, not the machine's. */
    floorLongestMs: floor.max(),
  };
}

interface Phase {
  name: string;
  units: number;
  latencyMs: number[];
}

function endOne(): Phase[] {
  const market = largeMarket();
  const { engine } = market;
  for (let atMs = ENDS_AT_MS - 60_000; atMs < ENDS_AT_MS; atMs += 250)
    mustApply(engine, observedPrice(atMs), atMs);
  globalThis.gc?.();
  const phases = [
    runWork(engine, 'cancel', ENDS_AT_MS, 'orderCancelled'),
    runWork(engine, 'settle', RESOLVES_AT_MS, 'positionSettled'),
    runWork(engine, 'pay', PAYS_AT_MS, 'claimed'),
  ];
  // One of the two holders of each complete set is paid.
  const expected = [USERS, USERS, USERS / 2];
  phases.forEach((phase, i) => {
    if (phase.units === expected[i]) return;
    throw new Error(`the market's end had ${phase.units} to ${phase.name}, not ${expected[i]}`);
  });
  engine.checkInvariants();
  if (engine.market(market.marketId) !== null) throw new Error('the market is still there');
  return phases;
}

/** Every user has a position and a resting order, a buy or a sell, on one of 200 levels. */
function largeMarket(): OpenMarket {
  const market = openMarket(USERS, FUNDS_MICROS);
  const { engine, marketId } = market;
  const atMs = WINDOW_START_MS + 1_000;
  for (let userId = 1; userId < USERS; userId += 2) {
    const offer = { userId, marketId, sizeLots: LOTS, priceTicks: 500 };
    mustApply(engine, buyOrder({ ...offer, timeInForce: TimeInForce.GTC }), atMs);
    const taken = { userId: userId + 1, marketId, outcome: Outcome.DOWN, budgetMicros: LOTS * 500 };
    mustApply(engine, buyOrder(taken), atMs);
  }
  for (let userId = 1; userId <= USERS; userId++) {
    const outcome = userId % 2 === 1 ? Outcome.UP : Outcome.DOWN;
    const away = 1 + ((userId >> 2) % 100);
    const common = { userId, marketId, outcome, sizeLots: LOTS, timeInForce: TimeInForce.GTC };
    const sells = (userId >> 1) % 2 === 0;
    const order = sells
      ? sellOrder({ ...common, priceTicks: 500 + away })
      : buyOrder({ ...common, priceTicks: 500 - away });
    mustApply(engine, order, atMs);
  }
  return market;
}

/** Command by command, like the scheduler. */
function runWork(engine: Engine, name: string, dueAtMs: number, unit: EventName): Phase {
  while (engine.nextDueMs() < dueAtMs) engine.apply({ kind: 'advanceTime' }, engine.nextDueMs());
  const latencyMs: number[] = [];
  let units = 0;
  do {
    const startedMs = performance.now();
    engine.apply({ kind: 'advanceTime' }, dueAtMs);
    latencyMs.push(performance.now() - startedMs);
    units += countEvents(engine, unit);
  } while (engine.nextDueMs() <= dueAtMs);
  return { name, units, latencyMs };
}

function countEvents(engine: Engine, wanted: EventName): number {
  let count = 0;
  eachEvent(engine.events, (name) => {
    if (name === wanted) count++;
  });
  return count;
}
