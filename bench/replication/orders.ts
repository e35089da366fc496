/** Durable orders over HTTP, singly and in batches, on SQLite and on PostgreSQL. */
import { batches, buys, type HttpLoad } from '../http/loads.js';
import { LoadGenerator } from '../http/processes.js';
import { type Part, percent, tableOf } from '../measure/report.js';
import { type CpuTimes, cpuSince, cpuTimesOf, type Setup, type Started } from './setup.js';

const BUY_CONNECTIONS = 64;
const BATCH_CONNECTIONS = 16;
const WARM_UP_MS = 2_000;

export interface OrdersRow {
  setup: string;
  load: string;
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
  const generator = started(new LoadGenerator());
  const rows: OrdersRow[] = [];
  for (const each of loads) rows.push(await measure(setup, each, generator, seconds));
  return rows;
}

async function measure(
  setup: Setup,
  { load, connections }: { load: HttpLoad; connections: number },
  generator: LoadGenerator,
  seconds: number,
): Promise<OrdersRow> {
  const { port } = setup.leader;
  const { requests } = load;
  const run = (measureMs: number) =>
    generator.run({
      pace: { kind: 'closed' },
      port,
      connections,
      requests,
      warmUpMs: 0,
      measureMs,
    });
  await run(WARM_UP_MS);
  const before = cpuTimesOf(setup);
  const result = await run(seconds * 1_000);
  const cpu = cpuSince(setup, before);
  await setup.leader.followed();
  const perRequest = Object.entries(cpu).map(([name, ms]) => [
    name,
    (1_000 * ms) / result.measured,
  ]);
  return {
    setup: setup.name,
    load: load.name,
    perSecond: (result.measured / seconds) * load.orders,
    p50Ms: result.latencyP50Ms,
    p99Ms: result.latencyP99Ms,
    idleShare: result.idleShare,
    cpuMicros: Object.fromEntries(perRequest) as unknown as CpuTimes,
    errors: Object.entries(result.byStatus).reduce(
      (all, [status, n]) => all + (status === '200' ? 0 : n),
      0,
    ),
  };
}

export function ordersPart(rows: readonly OrdersRow[]): Part {
  const ratioOf = (row: OrdersRow) =>
    row.perSecond / rows.find(({ load }) => load === row.load)!.perSecond;
  const title =
    'Durable orders, closed loop; latencies in milliseconds; CPU per request in microseconds';
  const table = tableOf(title, rows, {
    journal: ({ setup }) => setup,
    load: ({ load }) => load,
    'orders/s': ({ perSecond }) => perSecond,
    'of SQLite': ratioOf,
    p50: ({ p50Ms }) => p50Ms,
    p99: ({ p99Ms }) => p99Ms,
    leader: ({ cpuMicros }) => cpuMicros.leaderMs,
    'its main thread': ({ cpuMicros }) => cpuMicros.leaderThreadMs,
    'each PostgreSQL': ({ cpuMicros }) => cpuMicros.postgresMs,
    'idle cores': ({ idleShare }) => percent(idleShare),
    errors: ({ errors }) => errors,
  });
  return { table, figures: { errors: rows.reduce((all, { errors }) => all + errors, 0) } };
}
