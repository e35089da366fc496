/** The HTTP benchmark's report: notes, tables and figures. */
import type { Disk } from '../../test/support/processes/machine.js';
import { median } from '../../test/support/processes/samples.js';
import { type Cell, percent, type Section, type Table, tableOf } from '../measure/report.js';
import { THREADS, type ThreadCpu, totalMs } from '../measure/thread-cpu.js';
import { LIMITS_NOTE } from './exchange-under-load.js';
import type { LoadResult } from './load/load.js';
import type { HttpLoad } from './loads.js';
import {
  type Compared,
  errorsIn,
  medianOf,
  medianRate,
  OPEN_CONNECTIONS,
  ROUNDS,
  type Round,
  rateOf,
  type Scheduled,
} from './rounds.js';

/** The rate of buys rises until their median latency reaches this. */
export const KEPT_P50_MS = 50;

export interface Measured {
  closed: readonly Compared[];
  open: readonly Scheduled[];
  disk: Disk;
  loads: Record<'buys' | 'batches' | 'books', HttpLoad>;
  options: { seconds: number; seed: string };
}

export function report({ closed, open, disk, loads, options }: Measured): Section {
  const rounds = [
    ...closed.flatMap(({ bare, exchange, plain }) => [...bare, ...exchange, ...plain]),
    ...open,
  ];
  const results = rounds.map(({ result }) => result);
  const of = (load: HttpLoad) => closed.find((compared) => compared.load === load)!;
  const [buying, batching, reading] = [of(loads.buys), of(loads.batches), of(loads.books)];
  const bytesOf = ({ requests, answer }: HttpLoad) =>
    `${requests[0]!.length.toLocaleString('en-US')} bytes, answer ${Buffer.byteLength(answer).toLocaleString('en-US')}`;
  return {
    name: 'http',
    notes: [
      `The built exchange, with its follower, compared with a bare uWebSockets.js handler that reads and parses the same body and answers at once with the same bytes. The exchange answers changes after the commit with synchronous=FULL.`,
      `Buys (${bytesOf(loads.buys)}): 1 dollar at any price, 64 users in turn, each takes one resting order. Batches (first: ${bytesOf(loads.batches)}): ${loads.batches.orders} orders of one user; in every second batch all rest, in the others each takes one of those; 64 users. Order book: ${bytesOf(loads.books)}.`,
      `Closed loop: one request outstanding per connection, keep-alive; ${ROUNDS} rounds of ${options.seconds} s each, alternating; the median round, and the rates of all. Client, server and disk thread share the cores of this machine. A client near 100% CPU limits the rate. The follower catches up after each round.`,
      `Open loop: Poisson arrivals (seed ${options.seed}) over ${OPEN_CONNECTIONS} connections; latency counts from when a request was due (no coordinated omission), to some tenths of a millisecond. The rate of buys rises until one is refused or half of them wait for ${KEPT_P50_MS} ms.`,
      LIMITS_NOTE,
      `Disk: ${disk.fileSystem}; writing 4 KiB and fdatasync takes ${disk.syncP50Ms.toFixed(3)} ms (p50).`,
      `Answers other than 200: ${errorsIn(results)}.`,
      `The plain design answers the same buys with node:http and one SQLite transaction with synchronous=FULL for each order; one round.`,
      `CPU time is that of the server, divided by its answers, warm-up included: in the program and in the kernel; on Linux. SQLite's threads write the journal and the history.`,
    ],
    tables: [closedTable(closed), openTable(open), cpuTable(closed, open)],
    figures: {
      durableBuysPerSecond: medianRate(buying.exchange),
      durableBuyP99Ms: medianOf(buying.exchange).result.latencyP99Ms,
      bareRequestsPerSecond: medianRate(buying.bare),
      durableBuysOfBareShare: medianRate(buying.exchange) / medianRate(buying.bare),
      durableBuysOfPlainTimes: medianRate(buying.exchange) / medianRate(buying.plain),
      durableBuyMainThreadMicros: mainMicros(medianOf(buying.exchange).cpu),
      bareMainThreadMicros: mainMicros(medianOf(buying.bare).cpu),
      durableBatchOrdersPerSecond: medianRate(batching.exchange) * loads.batches.orders,
      orderBookReadsPerSecond: medianRate(reading.exchange),
      errors: errorsIn(results),
    },
  };
}

interface ClosedRow {
  name: string;
  rounds: readonly Round[];
  /** null in rows of the bare handler and of the plain design. */
  compared: Compared | null;
}

function closedTable(closed: readonly Compared[]): Table {
  const rows = closed.flatMap((compared): ClosedRow[] => {
    const name = `${compared.load.name}, ${compared.connections} connections`;
    return [
      { name: `bare handler: ${name}`, rounds: compared.bare, compared: null },
      { name, rounds: compared.exchange, compared },
      ...(compared.plain.length === 0
        ? []
        : [{ name: `plain design: ${name}`, rounds: compared.plain, compared: null }]),
    ];
  });
  const ifExchange = (cell: (compared: Compared) => Cell) => (row: ClosedRow) =>
    row.compared === null ? '' : cell(row.compared);
  const ifOrders = (cell: (compared: Compared) => Cell) =>
    ifExchange((compared) => (compared.load.orders === 0 ? '' : cell(compared)));
  const rates = (rounds: readonly Round[]) =>
    rounds.map(({ result }) => `${(rateOf(result) / 1_000).toPrecision(2)}k`).join(' ');
  return tableOf('Closed loop; latencies of the median round in milliseconds', rows, {
    'server and load': ({ name }) => name,
    'requests/s': ({ rounds }) => medianRate(rounds),
    rounds: ({ rounds }) => rates(rounds),
    ...resultColumns<ClosedRow>(({ rounds }) => medianOf(rounds).result),
    'orders/s': ifOrders(({ exchange, load }) => medianRate(exchange) * load.orders),
    'of bare': ifExchange(({ exchange, bare }) => percent(medianRate(exchange) / medianRate(bare))),
    'orders/commit': ifOrders(({ sequences, load, commits }) => {
      const commands = sequences.reduce((sum, { from, to }) => sum + to - from, 0);
      return (commands * load.orders) / commits;
    }),
    'follower behind, ms': ifOrders(({ behindMs }) => median(behindMs)),
  });
}

function openTable(open: readonly Scheduled[]): Table {
  return tableOf('Open loop; latency from when a request was due, in milliseconds', open, {
    load: ({ load }) => load.name,
    'intended/s': ({ perSecond }) => perSecond,
    'answered/s': ({ result }) => rateOf(result),
    refused: ({ result }) => errorsIn([result]),
    ...resultColumns<Scheduled>(({ result }) => result),
  });
}

interface CpuRow {
  name: string;
  cpu: ThreadCpu | null;
}

function cpuTable(closed: readonly Compared[], open: readonly Scheduled[]): Table {
  const rows: CpuRow[] = closed.flatMap((compared) => {
    const name = `${compared.load.name}, ${compared.connections} connections`;
    const plain = compared.plain.map(({ cpu }) => ({ name: `plain design: ${name}`, cpu }));
    return [
      { name: `bare handler: ${name}`, cpu: medianOf(compared.bare).cpu },
      { name, cpu: medianOf(compared.exchange).cpu },
      ...plain,
    ];
  });
  for (const { load, perSecond, cpu } of open)
    rows.push({ name: `${load.name}, ${perSecond.toLocaleString('en-US')} a second`, cpu });
  const micros = (cell: (cpu: ThreadCpu) => number) => (row: CpuRow) =>
    row.cpu === null ? '' : cell(row.cpu) * 1_000;
  return tableOf('CPU time per request by thread, in microseconds', rows, {
    'server and load': ({ name }) => name,
    'main, program': micros(({ main }) => main.userMs),
    'main, kernel': micros(({ main }) => main.systemMs),
    SQLite: micros(({ pool }) => totalMs(pool)),
    follower: micros(({ workers }) => totalMs(workers)),
    V8: micros(({ others }) => totalMs(others)),
    all: micros((cpu) => THREADS.reduce((sum, thread) => sum + totalMs(cpu[thread]), 0)),
  });
}

function mainMicros(cpu: ThreadCpu | null): number {
  return cpu === null ? Number.NaN : totalMs(cpu.main) * 1_000;
}

function resultColumns<Item>(resultOf: (item: Item) => LoadResult) {
  const column = (cell: (result: LoadResult) => Cell) => (item: Item) => cell(resultOf(item));
  return {
    p50: column(({ latencyP50Ms }) => latencyP50Ms),
    p99: column(({ latencyP99Ms }) => latencyP99Ms),
    'p99.9': column(({ latencyP999Ms }) => latencyP999Ms),
    max: column(({ latencyMaxMs }) => latencyMaxMs),
    'client CPU': column(({ clientCpuMs, measuredMs }) => percent(clientCpuMs / measuredMs)),
    'idle cores': column(({ idleShare }) => percent(idleShare)),
  };
}
