/**
 * The trading thread's CPU time for a durable buy: with all connections in it, with the same over
 * TLS, and with two edges in threads that have them; over HTTP, in batches, and over the stream.
 * Three exchanges, in alternating rounds. How many buys a second that allows can only be seen where
 * every thread has a core.
 */
import { inFolder } from '../../measure/machine.js';
import { percent, type Section, tableOf } from '../../measure/report.js';
import { median } from '../../measure/samples.js';
import { type ThreadCpu, threadCpu, totalMs, usedBetween } from '../../measure/thread-cpu.js';
import { FIRST, writeCertificate } from '../certificates.js';
import {
  type BenchOptions,
  type ExchangeUnderLoad,
  LIMITS_NOTE,
  withExchange,
} from '../exchange-under-load.js';
import type { LoadResult } from '../load/load.js';
import { batches, buys } from '../loads.js';
import { buysOverStream } from '../order-entry/bench.js';
import { LoadGenerator } from '../processes.js';

const THREADS = 2;
const CONNECTIONS = 64;
const ROUNDS = 3;
const FIRST_WARM_UP_MS = 2_000;
const WARM_UP_MS = 300;

interface Round {
  result: LoadResult;
  answers: number;
  cpu: ThreadCpu | null;
}

type Run = (timing: { warmUpMs: number; measureMs: number }) => Promise<LoadResult>;

interface Measured {
  name: string;
  exchange: ExchangeUnderLoad;
  run: Run;
  rounds: Round[];
}

export function benchEdges(options: BenchOptions): Promise<Section> {
  return inFolder(options.parent, (folder) => {
    const { certFile, keyFile } = writeCertificate(folder, FIRST);
    const variables = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile };
    return withExchange({ ...options, profileFolder: null, variables }, (secure) =>
      benchBeside(secure, options),
    );
  });
}

function benchBeside(secure: ExchangeUnderLoad, options: BenchOptions): Promise<Section> {
  const without = { ...options, profileFolder: null };
  const variables = { EDGE_THREADS: `${THREADS}` };
  return withExchange(without, (plain, started) =>
    withExchange({ ...options, variables }, async (threaded) => {
      const generator = started(new LoadGenerator());
      const places = [
        [plain, 'connections in the trading thread'],
        [secure, 'the same over TLS'],
        [threaded, `${THREADS} edges in threads`],
      ] as const;
      const measured: Measured[] = [];
      for (const loadOf of [buysOverHttp, batchesOverHttp, ordersOverStream]) {
        const compared: Measured[] = [];
        for (const [exchange, where] of places) {
          const load = await loadOf(exchange, generator);
          if (load !== null)
            compared.push({ ...load, name: `${load.name}, ${where}`, exchange, rounds: [] });
        }
        for (let round = 0; round < ROUNDS; round++)
          for (const each of compared) await measure(each, options.seconds, round === 0);
        measured.push(...compared);
      }
      return report(measured, options);
    }),
  );
}

interface Load {
  name: string;
  run: Run;
}

type LoadOf = (exchange: ExchangeUnderLoad, generator: LoadGenerator) => Promise<Load | null>;

const overHttp =
  (loadOf: typeof buys): LoadOf =>
  async (exchange, generator) => {
    const { name, requests } = await loadOf(exchange);
    const { port, isSecure } = exchange;
    const load = {
      pace: { kind: 'closed' },
      port,
      isSecure,
      requests,
      connections: CONNECTIONS,
    } as const;
    return { name, run: (timing) => generator.run({ ...load, ...timing }) };
  };
const buysOverHttp = overHttp(buys);
const batchesOverHttp = overHttp(batches);
/** The load has no TLS. */
const ordersOverStream: LoadOf = async (exchange, generator) =>
  exchange.isSecure ? null : buysOverStream(exchange, generator);

async function measure(
  { exchange, run, rounds }: Measured,
  seconds: number,
  isFirst: boolean,
): Promise<void> {
  const warmUpMs = isFirst ? FIRST_WARM_UP_MS : WARM_UP_MS;
  const before = threadCpu(exchange.pid);
  const result = await run({ warmUpMs, measureMs: seconds * 1_000 });
  await exchange.followed();
  const answers = Object.values(result.byStatus).reduce((sum, count) => sum + count, 0);
  rounds.push({ result, answers, cpu: usedBetween(before, threadCpu(exchange.pid)) });
}

/** The median of the rounds, in microseconds per request. */
function microsOf({ rounds }: Measured, used: (cpu: ThreadCpu) => number): number {
  return median(
    rounds.map(({ cpu, answers }) => (cpu === null ? Number.NaN : (1_000 * used(cpu)) / answers)),
  );
}

function report(measured: readonly Measured[], options: BenchOptions): Section {
  const main = (each: Measured) => microsOf(each, (cpu) => totalMs(cpu.main));
  const workers = (each: Measured) => microsOf(each, (cpu) => totalMs(cpu.workers));
  const [plain, secure, threaded] = measured as [Measured, Measured, Measured];
  const [plainStream, threadedStream] = measured.slice(-2) as [Measured, Measured];
  return {
    name: 'edge',
    notes: [
      `Three exchanges, one with TLS (a certificate on P-256), one with EDGE_THREADS=${THREADS}, in ${ROUNDS} alternating rounds of ${options.seconds} s, ${CONNECTIONS} connections, one request outstanding on each. CPU time per request: the median of the rounds, warm-up included, on Linux. On a machine with fewer cores than threads the rates say nothing about more cores.`,
      LIMITS_NOTE,
    ],
    tables: [
      tableOf('CPU time per request by thread, in microseconds', [...measured], {
        'load and connections': ({ name }) => name,
        'requests/s': ({ rounds }) =>
          median(rounds.map(({ result }) => (1_000 * result.measured) / result.measuredMs)),
        p50: ({ rounds }) => median(rounds.map(({ result }) => result.latencyP50Ms)),
        p99: ({ rounds }) => median(rounds.map(({ result }) => result.latencyP99Ms)),
        'main, program': (each) => microsOf(each, (cpu) => cpu.main.userMs),
        'main, kernel': (each) => microsOf(each, (cpu) => cpu.main.systemMs),
        'rounds of main': ({ rounds }) =>
          rounds
            .map(({ cpu, answers }) =>
              cpu === null ? '' : ((1_000 * totalMs(cpu.main)) / answers).toFixed(1),
            )
            .join(' '),
        'follower and edges': workers,
        SQLite: (each) => microsOf(each, (cpu) => totalMs(cpu.pool)),
        refused: ({ rounds }) => percent(refusedShare(rounds)),
      }),
    ],
    figures: {
      mainMicrosPerBuy: main(plain),
      mainMicrosPerBuyWithTls: main(secure),
      mainMicrosPerBuyWithEdges: main(threaded),
      mainShareWithEdges: main(threaded) / main(plain),
      mainShareWithEdgesOverStream: main(threadedStream) / main(plainStream),
      edgesMicrosPerBuy: workers(threaded) - workers(plain),
    },
  };
}

function refusedShare(rounds: readonly Round[]): number {
  const sum = (count: (round: Round) => number) =>
    rounds.reduce((total, round) => total + count(round), 0);
  return (
    sum(({ result, answers }) => answers - (result.byStatus[200] ?? 0)) /
    sum(({ answers }) => answers)
  );
}
