/** One measurement of `npm run compare` over HTTP: starts one build's exchange and loads it. */
import { join } from 'node:path';
import { withExchange } from '../http/exchange-under-load.js';
import { batches, books, buys } from '../http/loads.js';
import { LoadGenerator } from '../http/processes.js';
import { answersIn, errorsIn, perRequest, rateOf } from '../http/rounds.js';
import { hasWrk, runWrk } from '../http/wrk.js';
import { THREADS, type ThreadCpu, threadCpu, totalMs, usedBetween } from '../measure/thread-cpu.js';
import type { Build, Measured } from './turns.js';

export const HTTP_LOADS = { buys, batches, books } as const;
export type HttpLoadName = keyof typeof HTTP_LOADS;

export interface HttpRunOptions {
  load: HttpLoadName;
  connections: number;
  seconds: number;
  /** For the temporary data folder. */
  parent: string;
}

interface Target {
  port: number;
  connections: number;
  seconds: number;
  requests: readonly Uint8Array[];
}

interface Answered {
  answers: number;
  /** Measured by the client. */
  seen: Measured;
}

const WARM_UP_SECONDS = 3;

export function measureHttp(build: Build, options: HttpRunOptions): Promise<Measured> {
  const { parent, seconds, connections } = options;
  const program = join(build.folder, 'dist/gateway/main.js');
  const exchangeOptions = { parent, seconds, profileFolder: null, variables: build.variables };
  return withExchange({ ...exchangeOptions, program }, async (exchange, started) => {
    const { requests } = await HTTP_LOADS[options.load](exchange);
    const target = { port: exchange.port, connections, requests };
    const load = (await hasWrk()) ? loadOfWrk(parent) : loadOf(started(new LoadGenerator()));
    await load({ ...target, seconds: WARM_UP_SECONDS });
    const before = threadCpu(exchange.pid);
    const { answers, seen } = await load({ ...target, seconds });
    await exchange.followed();
    const cpu = perRequest(usedBetween(before, threadCpu(exchange.pid)), answers);
    return { ...seen, ...microsOf(cpu) };
  });
}

function loadOfWrk(folder: string) {
  return async (target: Target): Promise<Answered> => {
    const result = await runWrk({ ...target, folder });
    const { requests, seconds, p50Ms, p99Ms, errors } = result;
    const seen = { 'requests/s': requests / seconds, 'p50 ms': p50Ms, 'p99 ms': p99Ms, errors };
    return { answers: requests, seen };
  };
}

function loadOf(generator: LoadGenerator) {
  return async ({ seconds, ...target }: Target): Promise<Answered> => {
    const timing = { warmUpMs: 0, measureMs: seconds * 1_000 };
    const result = await generator.run({ pace: { kind: 'closed' }, ...target, ...timing });
    const seen = {
      'requests/s': rateOf(result),
      'p50 ms': result.latencyP50Ms,
      'p99 ms': result.latencyP99Ms,
      errors: errorsIn([result]),
    };
    return { answers: answersIn(result), seen };
  };
}

/** Empty on systems that do not report CPU time by thread. */
function microsOf(cpu: ThreadCpu | null): Measured {
  if (cpu === null) return {};
  const totals = THREADS.map((thread) => 1_000 * totalMs(cpu[thread]));
  const trading = 1_000 * totalMs(cpu.main);
  const all = totals.reduce((sum, micros) => sum + micros, 0);
  return { 'trading thread, µs a request': trading, 'others, µs a request': all - trading };
}
