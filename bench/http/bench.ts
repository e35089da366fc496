/**
 * The whole exchange over HTTP: durable answers per second, compared with a bare uWebSockets.js
 * handler that parses the same JSON and answers with the same bytes, with the same client on the
 * same machine, in alternating rounds. And latencies at given rates.
 */
import { dirname } from 'node:path';
import { readJournal } from '../measure/journal.js';
import { type Disk, describeDisk } from '../measure/machine.js';
import { type Cell, percent, type Section, type Table, tableOf } from '../measure/report.js';
import { median } from '../measure/samples.js';
import {
  type BenchOptions,
  type ExchangeUnderLoad,
  LIMITS_NOTE,
  withExchange,
} from './exchange-under-load.js';
import type { LoadPace, LoadResult } from './load.js';
import { batches, books, buys, type HttpLoad } from './loads.js';
import { LoadGenerator, startBareServer } from './processes.js';

export interface HttpBenchOptions extends BenchOptions {
  seed: string;
  /** The numbers of connections for buys. */
  connections: readonly number[];
}

/** The figures come from the first. */
export const CONNECTIONS: readonly number[] = [64, 1, 256];
const BATCH_CONNECTIONS: readonly number[] = [16, 64];
const READ_CONNECTIONS = 64;
/** Alternating rounds of each server. The first one has a longer warm-up. */
const ROUNDS = 3;
const FIRST_WARM_UP_MS = 2_000;
const WARM_UP_MS = 500;

/** Requests per second of the open loads. */
const BUYS_PER_SECOND = [2_000, 8_000];
const BATCHES_PER_SECOND = [1_000, 2_000];
/** More than a server that keeps up needs at these rates. */
const OPEN_CONNECTIONS = 256;

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
    const generator = started(new LoadGenerator());
    const runner = new Runner(generator, exchange, bare.port, options);

    const closed: Compared[] = [];
    for (const connections of options.connections)
      closed.push(await runner.compare(loads.buys, connections));
    for (const connections of BATCH_CONNECTIONS)
      closed.push(await runner.compare(loads.batches, connections));
    closed.push(await runner.compare(loads.books, READ_CONNECTIONS));
    const open: Scheduled[] = [];
    for (const perSecond of BUYS_PER_SECOND)
      open.push(await runner.schedule(loads.buys, perSecond));
    for (const perSecond of BATCHES_PER_SECOND)
      open.push(await runner.schedule(loads.batches, perSecond));
    await stopAll();
    await countCommits(exchange.dataFolder, closed);
    return report({ closed, open, disk, loads, options });
  });
}

/** The rounds of one load on both servers. */
interface Compared {
  load: HttpLoad;
  connections: number;
  bare: LoadResult[];
  exchange: LoadResult[];
  /** The exchange's sequence before and after each round. */
  sequences: { from: number; to: number }[];
  /** How long the follower took to catch up after each round. */
  behindMs: number[];
  /** In all rounds of the exchange. */
  commits: number;
}

interface Scheduled {
  load: HttpLoad;
  perSecond: number;
  result: LoadResult;
}

class Runner {
  constructor(
    private readonly generator: LoadGenerator,
    private readonly exchange: ExchangeUnderLoad,
    private readonly barePort: number,
    private readonly options: HttpBenchOptions,
  ) {}

  async compare(load: HttpLoad, connections: number): Promise<Compared> {
    const compared: Compared = {
      load,
      connections,
      bare: [],
      exchange: [],
      sequences: [],
      behindMs: [],
      commits: 0,
    };
    const pace: LoadPace = { kind: 'closed' };
    for (let round = 0; round < ROUNDS; round++) {
      const timing = { connections, warmUpMs: round === 0 ? FIRST_WARM_UP_MS : WARM_UP_MS };
      compared.bare.push(await this.run(load, this.barePort, pace, timing));
      const from = await this.exchange.durableSequence();
      compared.exchange.push(await this.run(load, this.exchange.port, pace, timing));
      compared.sequences.push({ from, to: await this.exchange.durableSequence() });
      compared.behindMs.push(await this.exchange.followed());
    }
    return compared;
  }

  async schedule(load: HttpLoad, perSecond: number): Promise<Scheduled> {
    const pace: LoadPace = { kind: 'open', perSecond, seed: this.options.seed };
    const timing = { connections: OPEN_CONNECTIONS, warmUpMs: FIRST_WARM_UP_MS };
    const result = await this.run(load, this.exchange.port, pace, timing);
    await this.exchange.followed();
    return { load, perSecond, result };
  }

  private run(
    { requests }: HttpLoad,
    port: number,
    pace: LoadPace,
    timing: { connections: number; warmUpMs: number },
  ): Promise<LoadResult> {
    const measureMs = this.options.seconds * 1_000;
    return this.generator.run({ pace, port, requests, ...timing, measureMs });
  }
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
  disk: Disk;
  loads: Record<'buys' | 'batches' | 'books', HttpLoad>;
  options: HttpBenchOptions;
}

function report({ closed, open, disk, loads, options }: Measured): Section {
  const results = [
    ...closed.flatMap(({ bare, exchange }) => [...bare, ...exchange]),
    ...open.map(({ result }) => result),
  ];
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
      `Open loop: Poisson arrivals (seed ${options.seed}) over ${OPEN_CONNECTIONS} connections; latency counts from when a request was due (no coordinated omission), to about a millisecond.`,
      LIMITS_NOTE,
      `Disk: ${disk.fileSystem}; writing 4 KiB and fdatasync takes ${disk.syncP50Ms.toFixed(3)} ms (p50).`,
      `Answers other than 200: ${errorsIn(results)}.`,
    ],
    tables: [closedTable(closed), openTable(open)],
    figures: {
      durableBuysPerSecond: medianRate(buying.exchange),
      durableBuyP99Ms: medianOf(buying.exchange).latencyP99Ms,
      bareRequestsPerSecond: medianRate(buying.bare),
      durableBuysOfBareShare: medianRate(buying.exchange) / medianRate(buying.bare),
      durableBatchOrdersPerSecond: medianRate(batching.exchange) * loads.batches.orders,
      orderBookReadsPerSecond: medianRate(reading.exchange),
      errors: errorsIn(results),
    },
  };
}

interface ClosedRow {
  name: string;
  results: readonly LoadResult[];
  /** null: the bare handler. */
  compared: Compared | null;
}

function closedTable(closed: readonly Compared[]): Table {
  const rows = closed.flatMap((compared): ClosedRow[] => {
    const name = `${compared.load.name}, ${compared.connections} connections`;
    return [
      { name: `bare handler: ${name}`, results: compared.bare, compared: null },
      { name, results: compared.exchange, compared },
    ];
  });
  const ifExchange = (cell: (compared: Compared) => Cell) => (row: ClosedRow) =>
    row.compared === null ? '' : cell(row.compared);
  const ifOrders = (cell: (compared: Compared) => Cell) =>
    ifExchange((compared) => (compared.load.orders === 0 ? '' : cell(compared)));
  const rounds = (results: readonly LoadResult[]) =>
    results.map((result) => `${Math.round(rateOf(result) / 1_000)}k`).join(' ');
  return tableOf('Closed loop; latencies of the median round in milliseconds', rows, {
    'server and load': ({ name }) => name,
    'requests/s': ({ results }) => medianRate(results),
    rounds: ({ results }) => rounds(results),
    ...resultColumns<ClosedRow>(({ results }) => medianOf(results)),
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
    ...resultColumns<Scheduled>(({ result }) => result),
  });
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
function medianOf(results: readonly LoadResult[]): LoadResult {
  return [...results].sort((a, b) => a.measured - b.measured)[(results.length - 1) >> 1]!;
}

function medianRate(results: readonly LoadResult[]): number {
  return rateOf(medianOf(results));
}

function errorsIn(results: readonly LoadResult[]): number {
  return results
    .flatMap((result) => Object.entries(result.byStatus))
    .reduce((sum, [status, count]) => sum + (status === '200' ? 0 : count), 0);
}
