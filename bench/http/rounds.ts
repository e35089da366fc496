/** The HTTP benchmark's rounds: one load after another, each on the servers in turn. */
import { type ThreadCpu, threadCpu, usedBetween } from '../measure/thread-cpu.js';
import type { ExchangeUnderLoad } from './exchange-under-load.js';
import type { LoadPace, LoadResult } from './load/load.js';
import type { HttpLoad } from './loads.js';
import type { LoadGenerator } from './processes.js';

export type Server = 'bare handler' | 'exchange' | 'plain design';

/** Per server. The first round has a longer warm-up. */
export const ROUNDS = 3;
const FIRST_WARM_UP_MS = 2_000;
const WARM_UP_MS = 500;
/** More connections than a server needs to sustain these rates. */
export const OPEN_CONNECTIONS = 256;

export interface Round {
  result: LoadResult;
  /** Per request, the follower's until it has caught up. null: unknown. */
  cpu: ThreadCpu | null;
}

export interface Compared {
  load: HttpLoad;
  connections: number;
  bare: Round[];
  exchange: Round[];
  /** One round or none. */
  plain: Round[];
  /** Before and after each round. */
  sequences: { from: number; to: number }[];
  /** The follower's, after each round. */
  behindMs: number[];
  /** In all of the exchange's rounds. */
  commits: number;
}

export interface Scheduled extends Round {
  load: HttpLoad;
  perSecond: number;
}

interface ServerProcess {
  port: number;
  pid: number;
}

export class Runner {
  constructor(
    private readonly generator: LoadGenerator,
    private readonly exchange: ExchangeUnderLoad,
    private readonly servers: Readonly<Record<Server, ServerProcess>>,
    private readonly options: { seconds: number; seed: string },
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

export function perRequest(cpu: ThreadCpu | null, requests: number): ThreadCpu | null {
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

export function answersIn({ byStatus }: LoadResult): number {
  return Object.values(byStatus).reduce((sum, count) => sum + count, 0);
}

export function rateOf(result: LoadResult): number {
  return (result.measured / result.measuredMs) * 1_000;
}

/** The lower one, if there are two. */
export function medianOf(rounds: readonly Round[]): Round {
  const byRate = [...rounds].sort((a, b) => a.result.measured - b.result.measured);
  return byRate[(rounds.length - 1) >> 1]!;
}

export function medianRate(rounds: readonly Round[]): number {
  return rateOf(medianOf(rounds).result);
}

export function errorsIn(results: readonly LoadResult[]): number {
  return results
    .flatMap((result) => Object.entries(result.byStatus))
    .reduce((sum, [status, count]) => sum + (status === '200' ? 0 : count), 0);
}
