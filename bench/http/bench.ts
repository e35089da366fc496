/**
 * The whole exchange over HTTP: durable answers per second, compared with a bare uWebSockets.js
 * handler that parses the same JSON and answers with the same bytes, and with a plain design
 * (bench/plain), with the same client on the same machine, in alternating rounds. Latencies at
 * given rates, up to the first that the exchange does not keep. Beside each rate, CPU time by
 * thread.
 */
import { dirname, join } from 'node:path';
import { readJournal } from '../measure/journal.js';
import { type Disk, describeDisk } from '../measure/machine.js';
import { type Cell, percent, type Section, type Table, tableOf } from '../measure/report.js';
import { median } from '../measure/samples.js';
import { THREADS, type ThreadCpu, threadCpu, totalMs, usedBetween } from '../measure/thread-cpu.js';
import {
  type BenchOptions,
  type ExchangeUnderLoad,
  LIMITS_NOTE,
  withExchange,
} from './exchange-under-load.js';
import type { LoadPace, LoadResult } from './load.js';
import { batches, books, buys, type HttpLoad } from './loads.js';
import { type PlotData, plot, SERVERS, type Server } from './plots.js';
import { LoadGenerator, startBareServer, startLeastServer, startPlainServer } from './processes.js';
import { hasWrk, runWrk, type WrkResult } from './wrk.js';

export interface HttpBenchOptions extends BenchOptions {
  seed: string;
  /** The numbers of connections for buys. */
  connections: readonly number[];
  /** Where pictures go; null: none are drawn. */
  plotFolder: string | null;
}

/** The figures come from the first. */
export const CONNECTIONS: readonly number[] = [64, 1, 16, 256];
const BATCH_CONNECTIONS: readonly number[] = [16, 64];
const READ_CONNECTIONS = 64;
/** Alternating rounds of each server. The first one has a longer warm-up. */
const ROUNDS = 3;
const FIRST_WARM_UP_MS = 2_000;
const WARM_UP_MS = 500;

/** Requests per second of the open loads. Buys stop at the first rate that is not kept. */
const BUYS_PER_SECOND = [2_000, 8_000, 16_000, 24_000, 32_000, 48_000, 64_000, 96_000];
const KEPT_P50_MS = 50;
const BATCHES_PER_SECOND = [1_000, 2_000];
/** More than a server that keeps up needs at these rates. */
const OPEN_CONNECTIONS = 256;
const WRK_CONNECTIONS: readonly number[] = [64, 256];
const WRK_SERVERS = [...SERVERS, 'least exchange'] as const;
type WrkServer = (typeof WRK_SERVERS)[number];

export function benchHttp(options: HttpBenchOptions): Promise<Section> {
  return withExchange(options, async (exchange, started, stopAll) => {
    const disk = await describeDisk(dirname(exchange.dataFolder));
    const loads = {
      buys: await buys(exchange),
      batches: await batches(exchange),
      books: await books(exchange),
    };
    const answers = Object.values(loads).map(({ path, answer }) => [`/api${path}`, answer]);
    const bare = started(await startBareServer(Object.fromEntries(answers)));
    const plain = started(
      await startPlainServer({
        folder: dirname(exchange.dataFolder),
        tokens: loads.buys.tokens,
        marketId: exchange.marketId,
        sample: JSON.parse(loads.buys.answer),
      }),
    );
    const least = started(
      await startLeastServer({
        folder: join(dirname(exchange.dataFolder), 'least'),
        tokens: loads.buys.tokens,
        path: loads.buys.path,
      }),
    );
    const generator = started(new LoadGenerator());
    const servers = {
      'bare handler': bare,
      exchange,
      'plain design': plain,
      'least exchange': least,
    };
    const runner = new Runner(generator, exchange, servers, options);

    const closed: Compared[] = [];
    for (const connections of options.connections)
      closed.push(await runner.compare(loads.buys, connections, true));
    for (const connections of BATCH_CONNECTIONS)
      closed.push(await runner.compare(loads.batches, connections));
    closed.push(await runner.compare(loads.books, READ_CONNECTIONS));
    const open: Scheduled[] = [];
    for (const perSecond of BUYS_PER_SECOND) {
      const scheduled = await runner.schedule(loads.buys, perSecond);
      open.push(scheduled);
      if (!isKept(scheduled)) break;
    }
    for (const perSecond of BATCHES_PER_SECOND)
      open.push(await runner.schedule(loads.batches, perSecond));
    const wrk = await runner.withWrk(loads.buys);
    await stopAll();
    await countCommits(exchange.dataFolder, closed);
    const files =
      options.plotFolder === null
        ? []
        : await plot(options.plotFolder, plotDataOf(closed, open, loads.buys));
    return report({ closed, open, wrk, disk, loads, options, files });
  });
}

interface Round {
  result: LoadResult;
  /** Of the server, per request; the follower's until it has caught up. null: not known. */
  cpu: ThreadCpu | null;
}

/** The rounds of one load on all servers. */
interface Compared {
  load: HttpLoad;
  connections: number;
  bare: Round[];
  exchange: Round[];
  /** One, or none. */
  plain: Round[];
  /** The exchange's sequence before and after each round. */
  sequences: { from: number; to: number }[];
  /** How long the follower took to catch up after each round. */
  behindMs: number[];
  /** In all rounds of the exchange. */
  commits: number;
}

interface Scheduled extends Round {
  load: HttpLoad;
  perSecond: number;
}

interface WithWrk {
  server: WrkServer;
  connections: number;
  result: WrkResult;
  cpu: ThreadCpu | null;
}

interface ServerProcess {
  port: number;
  pid: number;
}

class Runner {
  constructor(
    private readonly generator: LoadGenerator,
    private readonly exchange: ExchangeUnderLoad,
    private readonly servers: Readonly<Record<WrkServer, ServerProcess>>,
    private readonly options: HttpBenchOptions,
  ) {}

  async compare(load: HttpLoad, connections: number, withPlain = false): Promise<Compared> {
    const compared: Compared = {
      load,
      connections,
      bare: [],
      exchange: [],
      plain: [],
      sequences: [],
      behindMs: [],
      commits: 0,
    };
    const pace: LoadPace = { kind: 'closed' };
    for (let round = 0; round < ROUNDS; round++) {
      const timing = { connections, warmUpMs: round === 0 ? FIRST_WARM_UP_MS : WARM_UP_MS };
      compared.bare.push(await this.run(load, 'bare handler', pace, timing));
      const from = await this.exchange.durableSequence();
      let behindMs = 0;
      const followed = async () => {
        compared.sequences.push({ from, to: await this.exchange.durableSequence() });
        behindMs = await this.exchange.followed();
      };
      compared.exchange.push(await this.run(load, 'exchange', pace, timing, followed));
      compared.behindMs.push(behindMs);
    }
    const timing = { connections, warmUpMs: WARM_UP_MS };
    if (withPlain) compared.plain.push(await this.run(load, 'plain design', pace, timing));
    return compared;
  }

  async schedule(load: HttpLoad, perSecond: number): Promise<Scheduled> {
    const pace: LoadPace = { kind: 'open', perSecond, seed: this.options.seed };
    const timing = { connections: OPEN_CONNECTIONS, warmUpMs: FIRST_WARM_UP_MS };
    const followed = () => this.exchange.followed();
    return { load, perSecond, ...(await this.run(load, 'exchange', pace, timing, followed)) };
  }

  /** No rounds where wrk is not installed. */
  async withWrk({ requests }: HttpLoad): Promise<WithWrk[]> {
    const rounds: WithWrk[] = [];
    if (!(await hasWrk())) return rounds;
    const folder = dirname(this.exchange.dataFolder);
    const { seconds } = this.options;
    // Unlike the others, it has not been under load yet.
    const cold = this.servers['least exchange'].port;
    await runWrk({ port: cold, connections: WRK_CONNECTIONS[0]!, seconds, requests, folder });
    for (const connections of WRK_CONNECTIONS) {
      for (const server of WRK_SERVERS) {
        const { port, pid } = this.servers[server];
        const before = threadCpu(pid);
        const result = await runWrk({ port, connections, seconds, requests, folder });
        if (server === 'exchange') await this.exchange.followed();
        const cpu = perRequest(usedBetween(before, threadCpu(pid)), result.requests);
        rounds.push({ server, connections, result, cpu });
      }
    }
    return rounds;
  }

  private async run(
    { requests }: HttpLoad,
    server: Server,
    pace: LoadPace,
    timing: { connections: number; warmUpMs: number },
    settled: () => Promise<unknown> = async () => {},
  ): Promise<Round> {
    const { port, pid } = this.servers[server];
    const measureMs = this.options.seconds * 1_000;
    const before = threadCpu(pid);
    const result = await this.generator.run({ pace, port, requests, ...timing, measureMs });
    await settled();
    return { result, cpu: perRequest(usedBetween(before, threadCpu(pid)), answersIn(result)) };
  }
}

function perRequest(cpu: ThreadCpu | null, requests: number): ThreadCpu | null {
  if (cpu === null || requests === 0) return null;
  const share = (thread: keyof ThreadCpu) => ({
    userMs: cpu[thread].userMs / requests,
    systemMs: cpu[thread].systemMs / requests,
  });
  return {
    main: share('main'),
    pool: share('pool'),
    workers: share('workers'),
    others: share('others'),
  };
}

/** Nothing was refused, and requests did not queue for a connection longer and longer. */
function isKept({ result }: Scheduled): boolean {
  return result.latencyP50Ms < KEPT_P50_MS && errorsIn([result]) === 0;
}

/** Counts the commits of each load in the journal. */
async function countCommits(folder: string, closed: readonly Compared[]): Promise<void> {
  await readJournal(folder, async (reader) => {
    for await (const { lastSequence } of reader.batches()) {
      const compared = closed.find(({ sequences }) =>
        sequences.some(({ from, to }) => lastSequence > from && lastSequence <= to),
      );
      if (compared !== undefined) compared.commits++;
    }
  });
}

interface Measured {
  closed: readonly Compared[];
  open: readonly Scheduled[];
  wrk: readonly WithWrk[];
  disk: Disk;
  loads: Record<'buys' | 'batches' | 'books', HttpLoad>;
  options: HttpBenchOptions;
  /** The pictures. */
  files: readonly string[];
}

function report({ closed, open, wrk, disk, loads, options, files }: Measured): Section {
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
      wrk.length === 0
        ? 'wrk is not installed.'
        : 'wrk: the same buys from one thread in C; latency from when a request was sent.',
      ...(files.length === 0 ? [] : [`Pictures in ${options.plotFolder}: ${files.join(', ')}.`]),
    ],
    tables: [
      closedTable(closed),
      openTable(open),
      ...(wrk.length === 0 ? [] : [wrkTable(wrk)]),
      cpuTable(closed, open, wrk),
    ],
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
  /** null: the bare handler, or the plain design. */
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

function wrkTable(wrk: readonly WithWrk[]): Table {
  return tableOf('wrk, durable buys; latencies in milliseconds', wrk, {
    'server and connections': ({ server, connections }) => `${server}, ${connections}`,
    'requests/s': ({ result }) => result.requests / result.seconds,
    p50: ({ result }) => result.p50Ms,
    p99: ({ result }) => result.p99Ms,
    'p99.9': ({ result }) => result.p999Ms,
    errors: ({ result }) => result.errors,
  });
}

interface CpuRow {
  name: string;
  cpu: ThreadCpu | null;
}

function cpuTable(
  closed: readonly Compared[],
  open: readonly Scheduled[],
  wrk: readonly WithWrk[],
): Table {
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
  for (const { server, connections, cpu } of wrk)
    rows.push({ name: `wrk, ${connections} connections: ${server}`, cpu });
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

function plotDataOf(
  closed: readonly Compared[],
  open: readonly Scheduled[],
  buys: HttpLoad,
): PlotData {
  const buying = closed.filter(({ load }) => load === buys);
  const roundsOf = ({ bare, exchange, plain }: Compared) => ({
    'bare handler': bare,
    exchange,
    'plain design': plain,
  });
  const connections = buying.flatMap((compared) =>
    SERVERS.map((server) => {
      const { result } = medianOf(roundsOf(compared)[server]);
      return {
        connections: compared.connections,
        server,
        perSecond: rateOf(result),
        p50Ms: result.latencyP50Ms,
        p99Ms: result.latencyP99Ms,
      };
    }),
  );
  const offered = open
    .filter(({ load }) => load === buys)
    .map(({ perSecond, result }) => ({
      offeredPerSecond: perSecond,
      p50Ms: result.latencyP50Ms,
      p99Ms: result.latencyP99Ms,
    }));
  const cpu = SERVERS.flatMap((server) => {
    const used = medianOf(roundsOf(buying[0]!)[server]).cpu;
    return used === null ? [] : [{ server, cpu: used }];
  });
  return { connections, offered, cpu };
}

function answersIn({ byStatus }: LoadResult): number {
  return Object.values(byStatus).reduce((sum, count) => sum + count, 0);
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

function rateOf(result: LoadResult): number {
  return (result.measured / result.measuredMs) * 1_000;
}

/** The round with the lower median rate. */
function medianOf(rounds: readonly Round[]): Round {
  const byRate = [...rounds].sort((a, b) => a.result.measured - b.result.measured);
  return byRate[(rounds.length - 1) >> 1]!;
}

function medianRate(rounds: readonly Round[]): number {
  return rateOf(medianOf(rounds).result);
}

function errorsIn(results: readonly LoadResult[]): number {
  return results
    .flatMap((result) => Object.entries(result.byStatus))
    .reduce((sum, [status, count]) => sum + (status === '200' ? 0 : count), 0);
}
