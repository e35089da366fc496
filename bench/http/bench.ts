/**
 * The whole exchange over HTTP: durable answers per second, compared with a bare uWebSockets.js
 * handler that parses the same JSON and answers with the same bytes, with the same client on the
 * same machine, in turns. And latencies at given rates.
 */
import { openJournalReader } from '../../persistence/journal/reader.js';
import { type Disk, describeDisk, makeFolder, removeFolder } from '../measure/machine.js';
import { percent, type Section, type Table } from '../measure/report.js';
import { median } from '../measure/samples.js';
import { ExchangeUnderLoad, HOST, LIMITS_NOTE } from './exchange-under-load.js';
import type { LoadPace, LoadResult } from './load.js';
import { batches, books, buys, type HttpLoad } from './loads.js';
import { LoadGenerator, startBareServer } from './processes.js';

export interface HttpBenchOptions {
  /** The folder in which the temporary data folder is created. */
  parent: string;
  seed: string;
  /** The duration of each round. */
  seconds: number;
  /** The numbers of connections for buys. */
  connections: readonly number[];
  /** The folder for the exchange's CPU profile; null: none. */
  profileFolder: string | null;
}

/** The figures come from the first. */
export const CONNECTIONS: readonly number[] = [64, 1, 256];
const BATCH_CONNECTIONS: readonly number[] = [16, 64];
const READ_CONNECTIONS = 64;
/** Rounds of each server, in turns. The first one has a longer warm-up. */
const ROUNDS = 3;
const FIRST_WARM_UP_MS = 2_000;
const WARM_UP_MS = 500;

/** Requests per second of the open loads. */
const BUYS_PER_SECOND = [2_000, 8_000];
const BATCHES_PER_SECOND = [1_000, 2_000];
/** More than a server that keeps up needs at these rates. */
const OPEN_CONNECTIONS = 256;

export async function benchHttp(options: HttpBenchOptions): Promise<Section> {
  const folder = makeFolder(options.parent);
  const running: { stop(): Promise<void> }[] = [];
  const started = <T extends { stop(): Promise<void> }>(process: T): T => {
    running.push(process);
    return process;
  };
  try {
    const disk = await describeDisk(folder);
    const { profileFolder } = options;
    const exchange = started(await ExchangeUnderLoad.start({ folder, profileFolder }));
    await exchange.fillBook();
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
    while (running.length > 0) await running.pop()!.stop();
    const commits = await commitCounts(exchange.dataFolder, closed);
    return report({ closed, open, commits, disk, loads, options });
  } finally {
    // Only an error leaves processes here, and it is thrown further.
    await Promise.allSettled(running.map((process) => process.stop()));
    removeFolder(folder);
  }
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
    return this.generator.run({ pace, host: HOST, port, requests, ...timing, measureMs });
  }
}

/** The number of commits in all rounds of each load, from the journal. */
async function commitCounts(folder: string, closed: readonly Compared[]): Promise<number[]> {
  const counts = closed.map(() => 0);
  const reader = await openJournalReader(folder);
  try {
    for await (const { lastSequence } of reader.batches()) {
      const at = closed.findIndex(({ sequences }) =>
        sequences.some(({ from, to }) => lastSequence > from && lastSequence <= to),
      );
      if (at !== -1) counts[at]!++;
    }
  } finally {
    await reader.close();
  }
  return counts;
}

interface Measured {
  closed: readonly Compared[];
  open: readonly Scheduled[];
  /** One number for each of `closed`. */
  commits: readonly number[];
  disk: Disk;
  loads: Record<'buys' | 'batches' | 'books', HttpLoad>;
  options: HttpBenchOptions;
}

function report({ closed, open, commits, disk, loads, options }: Measured): Section {
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
      `Closed loop: one request outstanding per connection, keep-alive; ${ROUNDS} rounds of ${options.seconds} s each, in turns; the median round, and the rates of all. Client, server and disk thread share the cores of this machine. A client near 100% CPU limits the rate. The follower catches up after each round.`,
      `Open loop: Poisson arrivals (seed ${options.seed}) over ${OPEN_CONNECTIONS} connections; latency counts from when a request was due (no coordinated omission), to about a millisecond.`,
      LIMITS_NOTE,
      `Disk: ${disk.fileSystem}; writing 4 KiB and fdatasync takes ${disk.syncP50Ms.toFixed(3)} ms (p50).`,
      `Answers other than 200: ${errorsIn(results)}.`,
    ],
    tables: [closedTable(closed, commits), openTable(open)],
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

function closedTable(closed: readonly Compared[], commits: readonly number[]): Table {
  const rows = closed.flatMap(({ load, connections, bare, exchange, sequences, behindMs }, i) => {
    const commands = sequences.reduce((sum, { from, to }) => sum + to - from, 0);
    const ofBare = percent(medianRate(exchange) / medianRate(bare));
    const perCommit = load.orders === 0 ? '' : (commands * load.orders) / commits[i]!;
    const orders = (results: readonly LoadResult[]) =>
      load.orders === 0 ? '' : medianRate(results) * load.orders;
    return [
      [
        ...closedRow(`bare handler: ${load.name}, ${connections} connections`, bare),
        '',
        '',
        '',
        '',
      ],
      [
        ...closedRow(`${load.name}, ${connections} connections`, exchange),
        orders(exchange),
        ofBare,
        perCommit,
        load.orders === 0 ? '' : median(behindMs),
      ],
    ];
  });
  return {
    title: 'Closed loop; latencies of the median round in milliseconds',
    columns: [
      'server and load',
      'requests/s',
      'rounds',
      'p50',
      'p99',
      'p99.9',
      'max',
      'client CPU',
      'idle cores',
      'orders/s',
      'of bare',
      'orders/commit',
      'follower behind, ms',
    ],
    rows,
  };
}

function closedRow(name: string, results: readonly LoadResult[]): (number | string)[] {
  const middle = medianOf(results);
  return [
    name,
    rateOf(middle),
    results.map((result) => `${Math.round(rateOf(result) / 1_000)}k`).join(' '),
    middle.latencyP50Ms,
    middle.latencyP99Ms,
    middle.latencyP999Ms,
    middle.latencyMaxMs,
    percent(middle.clientCpuMs / middle.measuredMs),
    percent(middle.idleShare),
  ];
}

function openTable(open: readonly Scheduled[]): Table {
  return {
    title: 'Open loop; latency from when a request was due, in milliseconds',
    columns: [
      'load',
      'intended/s',
      'answered/s',
      'p50',
      'p99',
      'p99.9',
      'max',
      'client CPU',
      'idle cores',
    ],
    rows: open.map(({ load, perSecond, result }) => [
      load.name,
      perSecond,
      rateOf(result),
      result.latencyP50Ms,
      result.latencyP99Ms,
      result.latencyP999Ms,
      result.latencyMaxMs,
      percent(result.clientCpuMs / result.measuredMs),
      percent(result.idleShare),
    ]),
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
