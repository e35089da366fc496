/** Durable orders over HTTP, singly and in batches: SQLite, PostgreSQL, one replica, two. */
import type { LoadResult } from '../http/load/load.js';
import { batches, buys, type HttpLoad } from '../http/loads.js';
import { LoadGenerator } from '../http/processes.js';
import { type Part, percent, tableOf } from '../measure/report.js';
import {
  type CpuTimes,
  cpuSince,
  cpuTimesOf,
  portsOf,
  type Setup,
  type Started,
  untilFollowed,
} from './setup.js';

const BUY_CONNECTIONS = 64;
const BATCH_CONNECTIONS = 16;
/** A process is compiled while it works: before that, a request costs several times as much. */
const WARM_UP = { ms: 2_000, buys: 20_000, batches: 500, runsMax: 10 };

export interface OrdersRow {
  setup: string;
  isReplicated: boolean;
  replicas: number;
  load: string;
  /** Of all clients together. */
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  idleShare: number;
  /** For each request. */
  cpuMicros: CpuTimes;
  errors: number;
}

export async function measureOrders(
  setup: Setup,
  seconds: number,
  started: Started,
): Promise<OrdersRow[]> {
  const loads = [
    { load: await buys(setup.leader), connections: BUY_CONNECTIONS },
    { load: await batches(setup.leader), connections: BATCH_CONNECTIONS },
  ];
  const generators = portsOf(setup).map(() => started(new LoadGenerator()));
  const rows: OrdersRow[] = [];
  for (const each of loads) rows.push(await measure(setup, each, generators, seconds));
  return rows;
}

async function measure(
  setup: Setup,
  { load, connections }: { load: HttpLoad; connections: number },
  generators: readonly LoadGenerator[],
  seconds: number,
): Promise<OrdersRow> {
  const ports = portsOf(setup);
  const run = (measureMs: number) =>
    Promise.all(
      ports.map((port, i) =>
        generators[i]!.run({
          pace: { kind: 'closed' },
          port,
          connections: connections / ports.length,
          requests: load.requests,
          warmUpMs: 0,
          measureMs,
        }),
      ),
    );
  const enough = load.orders === 1 ? WARM_UP.buys : WARM_UP.batches;
  for (let sent = 0, runs = 0; sent < enough && runs < WARM_UP.runsMax; runs++)
    sent += sum(await run(WARM_UP.ms), ({ measured }) => measured);
  const before = cpuTimesOf(setup);
  const results = await run(seconds * 1_000);
  const cpu = cpuSince(setup, before);
  await untilFollowed(setup);
  const answers = sum(results, ({ measured }) => measured);
  const perRequest = Object.entries(cpu).map(([name, ms]) => [name, (1_000 * ms) / answers]);
  return {
    setup: setup.name,
    isReplicated: setup.postgres !== null,
    replicas: setup.replicas.length,
    load: load.name,
    perSecond: (answers / seconds) * load.orders,
    p50Ms: Math.max(...results.map(({ latencyP50Ms }) => latencyP50Ms)),
    p99Ms: Math.max(...results.map(({ latencyP99Ms }) => latencyP99Ms)),
    idleShare: results[0]!.idleShare,
    cpuMicros: Object.fromEntries(perRequest) as unknown as CpuTimes,
    errors: sum(results, ({ byStatus }) =>
      Object.entries(byStatus).reduce((all, [status, n]) => all + (status === '200' ? 0 : n), 0),
    ),
  };
}

function sum(results: readonly LoadResult[], of: (result: LoadResult) => number): number {
  return results.reduce((all, result) => all + of(result), 0);
}

export function ordersPart(rows: readonly OrdersRow[]): Part {
  const ratioOf = (row: OrdersRow) =>
    row.perSecond / rows.find(({ load }) => load === row.load)!.perSecond;
  const title =
    'Durable orders, closed loop; latencies in milliseconds; CPU per request in microseconds';
  const table = tableOf(title, rows, {
    'journal and way': ({ setup }) => setup,
    load: ({ load }) => load,
    'orders/s': ({ perSecond }) => perSecond,
    'of SQLite': ratioOf,
    p50: ({ p50Ms }) => p50Ms,
    p99: ({ p99Ms }) => p99Ms,
    leader: ({ cpuMicros }) => cpuMicros.leaderMs,
    'its main thread': ({ cpuMicros }) => cpuMicros.leaderThreadMs,
    'each replica': ({ cpuMicros }) => cpuMicros.replicaMs,
    'main thread of it': ({ cpuMicros }) => cpuMicros.replicaThreadMs,
    'each PostgreSQL': ({ cpuMicros }) => cpuMicros.postgresMs,
    'idle cores': ({ idleShare }) => percent(idleShare),
    errors: ({ errors }) => errors,
  });
  return { table, figures: { errors: rows.reduce((all, { errors }) => all + errors, 0) } };
}

/** CPU per request of the rows with replicas, in that of the leader without one. */
export function forwardingPart(rows: readonly OrdersRow[]): Part {
  const forwarded = rows.filter(({ replicas }) => replicas > 0);
  const alone = ({ load: its }: OrdersRow) =>
    rows.find(({ isReplicated, replicas, load }) => isReplicated && replicas === 0 && load === its)!
      .cpuMicros;
  const ofThread = (row: OrdersRow, of: keyof CpuTimes) =>
    row.cpuMicros[of] / alone(row).leaderThreadMs;
  const ofProcess = (row: OrdersRow, of: keyof CpuTimes) => row.cpuMicros[of] / alone(row).leaderMs;
  const title = 'What forwarding costs: CPU per request, 1 is that of a leader without a replica';
  const table = tableOf(title, forwarded, {
    'journal and way': ({ setup }) => setup,
    load: ({ load }) => load,
    "leader's main thread": (row) => ofThread(row, 'leaderThreadMs'),
    "each replica's main thread": (row) => ofThread(row, 'replicaThreadMs'),
    'leader, all threads': (row) => ofProcess(row, 'leaderMs'),
    'each replica, all threads': (row) => ofProcess(row, 'replicaMs'),
  });
  const [one] = forwarded;
  const figures =
    one === undefined
      ? {}
      : {
          forwardedLeaderThreadRatio: ofThread(one, 'leaderThreadMs'),
          forwardingReplicaThreadRatio: ofThread(one, 'replicaThreadMs'),
        };
  return { table, figures };
}
