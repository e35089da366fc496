/**
 * The whole exchange over HTTP: buys per second that are answered after they are durable, beside a bare uWebSockets.js handler that
 * parses the same JSON and answers with the same bytes; the same client, the same machine, in turns.
 *
 * The exchange is the built program in a process of its own, on a fresh data folder, with synchronous=FULL. Its prices and its time come from a
 * file, so that a market is open for the whole run. The house is off; makers rest more than all buys take.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { openJournalReader } from '../persistence/journal-reader.js';
import { type LoadResult, requestBytes } from './load.js';
import { describeDisk, makeFolder, removeFolder } from './machine.js';
import { LoadGenerator, type ServerProcess, startBareServer, startExchangeProcess } from './processes.js';
import { percent, type Section } from './report.js';

export interface HttpBenchOptions {
  /** The data folder is made in here, and removed. */
  parent: string;
  /** How long each load is measured. */
  seconds: number;
  /** The numbers of connections to measure with. */
  connections: readonly number[];
  /** Where the exchange's CPU profile goes; null: it is not profiled. */
  profileFolder: string | null;
}

/** The first is the one that the figures are taken from. */
export const CONNECTIONS: readonly number[] = [64, 1, 256];
const TAKERS = 64;
const MAKERS = 8;
const WARM_UP_MS = 2_000;
/** A quarter hour's start. */
const WINDOW_START_MS = 1_763_700_300_000;
const HOST = '127.0.0.1';

export async function benchHttp(options: HttpBenchOptions): Promise<Section> {
  const folder = makeFolder(options.parent);
  const running: { stop(): Promise<void> }[] = [];
  const started = <T extends { stop(): Promise<void> }>(process: T): T => {
    running.push(process);
    return process;
  };
  try {
    const disk = await describeDisk(folder);
    const exchange = started(await startExchangeProcess(environment(folder), options.profileFolder));
    const market = await prepareMarket(exchange);
    const bare = started(await startBareServer(market.receipt));
    const generator = started(new LoadGenerator());
    const rounds: Round[] = [];
    for (const connections of options.connections) {
      const load = { host: HOST, connections, warmUpMs: WARM_UP_MS, measureMs: options.seconds * 1_000 };
      const requests = market.requests;
      const bareResult = await generator.run({ ...load, requests, port: bare.port });
      const fromSequence = await durableSequence(exchange);
      const result = await generator.run({ ...load, requests, port: exchange.port });
      const toSequence = await durableSequence(exchange);
      rounds.push({ connections, bare: bareResult, exchange: result, fromSequence, toSequence });
    }
    while (running.length > 0) await running.pop()!.stop();
    const batches = await batchSizes(join(folder, 'data'), rounds);
    return report({ rounds, batches, disk, market });
  } finally {
    // Something is left only after an error, and that one is the one to hear of.
    await Promise.allSettled(running.map((process) => process.stop()));
    removeFolder(folder);
  }
}

interface Round {
  connections: number;
  bare: LoadResult;
  exchange: LoadResult;
  /** The exchange's sequence before the load and after it. */
  fromSequence: number;
  toSequence: number;
}

/** Prices of one asset for a quarter hour, and a market that is open for all of it. */
function environment(folder: string): Record<string, string> {
  const prices = join(folder, 'prices.csv');
  const lines = ['observedAtMs,asset,price'];
  for (let second = 0; second <= 900; second++) lines.push(`${WINDOW_START_MS + second * 1_000},BTC,90000`);
  writeFileSync(prices, `${lines.join('\n')}\n`);
  return {
    PORT: '0',
    HOST,
    DATA_FOLDER: join(folder, 'data'),
    ASSETS: 'BTC',
    PRICE_FEED: `file:${prices}`,
    HOUSE: 'off',
    STARTING_BALANCE: '1000000',
    PASSWORD_COST_LOG2: '10',
    FAIR_USE: 'off',
    LOG_LEVEL: 'error',
  };
}

interface Market {
  /** One for each taker. */
  requests: Buffer[];
  /** The answer to a buy. */
  receipt: string;
}

/** Users, resting orders, and the requests that will take them. */
async function prepareMarket(exchange: ServerProcess): Promise<Market> {
  const api = new Api(exchange.port);
  const marketId = await api.openMarket();
  const path = `/markets/15m/${marketId}/buy`;
  for (let i = 0; i < MAKERS; i++) {
    const token = await api.register(`maker-${i}`);
    for (const outcome of ['UP', 'DOWN']) {
      // Nearly half of what a maker has on each side.
      await api.post(path, { outcome, shares: 900_000, price: 0.499, timeInForce: 'GTC' }, token);
    }
  }
  const requests: Buffer[] = [];
  let receipt = '';
  for (let i = 0; i < TAKERS; i++) {
    const token = await api.register(`taker-${i}`);
    const body = { outcome: i % 2 === 0 ? 'UP' : 'DOWN', amount: 1 };
    receipt = await api.post(path, body, token);
    const host = `${HOST}:${exchange.port}`;
    requests.push(
      requestBytes({ method: 'POST', path: `/api${path}`, host, headers: { 'x-user-token': token }, body }),
    );
  }
  return { requests, receipt };
}

/** For the preparation: whatever is not a success is an error. */
class Api {
  private readonly base: string;

  constructor(port: number) {
    this.base = `http://${HOST}:${port}/api`;
  }

  /** A market opens with the first price, which may come after the door has opened. */
  async openMarket(): Promise<string> {
    for (let attempt = 0; attempt < 100; attempt++) {
      const { markets } = JSON.parse(await this.get('/markets/15m?asset=BTC')) as {
        markets: { id: string }[];
      };
      const [market] = markets;
      if (market !== undefined) return market.id;
      await sleep(100);
    }
    throw new Error('no market is open');
  }

  async register(username: string): Promise<string> {
    const answer = await this.send('POST', '/auth/register', { username, password: 'correct horse battery' });
    return (JSON.parse(answer) as { token: string }).token;
  }

  get(path: string): Promise<string> {
    return this.send('GET', path);
  }

  post(path: string, body: unknown, token: string): Promise<string> {
    return this.send('POST', path, body, { 'x-user-token': token });
  }

  private async send(
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<string> {
    const answer = await request(this.base + path, {
      method,
      headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return text;
  }
}

async function durableSequence(exchange: ServerProcess): Promise<number> {
  const status = JSON.parse(await new Api(exchange.port).get('/status')) as { durableSequence: number };
  return status.durableSequence;
}

/** Commits of each round, from the journal. */
async function batchSizes(folder: string, rounds: readonly Round[]): Promise<number[]> {
  const counts = rounds.map(() => 0);
  const reader = await openJournalReader(folder);
  try {
    for await (const { lastSequence } of reader.batches()) {
      const round = rounds.findIndex(
        ({ fromSequence, toSequence }) => lastSequence > fromSequence && lastSequence <= toSequence,
      );
      if (round !== -1) counts[round]!++;
    }
  } finally {
    await reader.close();
  }
  return counts;
}

interface Measured {
  rounds: readonly Round[];
  /** Commits, by round. */
  batches: readonly number[];
  disk: { fileSystem: string; syncP50Ms: number };
  market: Market;
}

function report({ rounds, batches, disk, market }: Measured): Section {
  const rows = rounds.flatMap((round, i) => {
    const commands = round.toSequence - round.fromSequence;
    const ratio = rateOf(round.exchange) / rateOf(round.bare);
    return [
      rowOf(`bare handler, ${round.connections} connections`, round.bare, '', ''),
      rowOf(`durable buys, ${round.connections} connections`, round.exchange, ratio, commands / batches[i]!),
    ];
  });
  const standard = rounds[0]!;
  const results = rounds.flatMap((round) => [round.bare, round.exchange]);
  return {
    name: 'http',
    notes: [
      `POST buy of 1 dollar at any price, ${TAKERS} users in turn, each with one resting order to take; ${market.requests[0]!.length} bytes each; the answer of ${Buffer.byteLength(market.receipt)} bytes leaves after the commit with synchronous=FULL.`,
      'The bare handler: uWebSockets.js, reads and parses the same body, answers at once with a constant of the same bytes.',
      'Closed loop, one request outstanding per connection, keep-alive; client, server and disk thread share the cores of this machine. A client near 100% CPU is itself the limit.',
      `Disk: ${disk.fileSystem}; writing 4 KiB and fdatasync takes ${disk.syncP50Ms.toFixed(3)} ms (p50).`,
      `Answers other than 200: ${errorsIn(results)}.`,
    ],
    tables: [
      {
        title: 'Requests over HTTP; latencies in milliseconds',
        columns: [
          'server',
          'requests/s',
          'p50',
          'p99',
          'p99.9',
          'max',
          'errors',
          'client CPU',
          'idle cores',
          'of bare',
          'orders/commit',
        ],
        rows,
      },
    ],
    figures: {
      durableBuysPerSecond: rateOf(standard.exchange),
      durableBuysBestPerSecond: Math.max(...rounds.map((round) => rateOf(round.exchange))),
      durableBuyP99Ms: standard.exchange.latencyP99Ms,
      bareRequestsPerSecond: rateOf(standard.bare),
      durableBuysOfBareShare: rateOf(standard.exchange) / rateOf(standard.bare),
      errors: errorsIn(results),
    },
  };
}

function rateOf(result: LoadResult): number {
  return (result.measured / result.measuredMs) * 1_000;
}

function errorsIn(results: readonly LoadResult[]): number {
  return results
    .flatMap((result) => Object.entries(result.byStatus))
    .reduce((sum, [status, count]) => sum + (status === '200' ? 0 : count), 0);
}

function rowOf(
  name: string,
  result: LoadResult,
  ofBare: number | '',
  ordersPerCommit: number | '',
): (number | string)[] {
  return [
    name,
    rateOf(result),
    result.latencyP50Ms,
    result.latencyP99Ms,
    result.latencyP999Ms,
    result.latencyMaxMs,
    errorsIn([result]),
    `${Math.round((result.clientCpuMs / result.measuredMs) * 100)}%`,
    percent(result.idleShare),
    ofBare === '' ? '' : `${Math.round(ofBare * 100)}%`,
    ordersPerCommit,
  ];
}
