/** An exchange under load whose journal is on SQLite or PostgreSQL, and where its CPU time goes. */
import type { PostgresCluster } from '../cluster/postgres.js';
import { ExchangeUnderLoad } from '../http/exchange-under-load.js';
import { cpuMsOf, mainThreadCpuMsOf } from '../measure/process-cpu.js';

type Stoppable = { stop(): Promise<void> };
export type Started = <P extends Stoppable>(process: P) => P;

/** All processes that take part. */
export interface Setup {
  name: string;
  leader: ExchangeUnderLoad;
  /** null: the journal is on SQLite. */
  postgres: PostgresCluster | null;
}

export async function startSetup(
  name: string,
  { folder, postgres }: { folder: string; postgres: PostgresCluster | null },
  started: Started,
): Promise<Setup> {
  await postgres?.dropJournal();
  const variables: Record<string, string> = postgres === null ? {} : { JOURNAL: postgres.url };
  const leader = await ExchangeUnderLoad.start(folder, null, started, variables);
  return { name, leader, postgres };
}

/** CPU time by part: of the nodes of PostgreSQL, the mean. */
export interface CpuTimes {
  leaderMs: number;
  leaderThreadMs: number;
  postgresMs: number;
}

export function cpuTimesOf({ leader, postgres }: Setup): CpuTimes {
  const nodes = postgres?.nodes ?? [];
  const mean = (times: readonly number[]) =>
    times.length === 0 ? Number.NaN : times.reduce((sum, ms) => sum + ms, 0) / times.length;
  return {
    leaderMs: cpuMsOf([leader.pid]),
    leaderThreadMs: mainThreadCpuMsOf(leader.pid),
    postgresMs: mean(nodes.map((node) => cpuMsOf(postgres!.processesOf(node)))),
  };
}

export function cpuSince(setup: Setup, before: CpuTimes): CpuTimes {
  const now = cpuTimesOf(setup);
  const names = Object.keys(now) as (keyof CpuTimes)[];
  return Object.fromEntries(
    names.map((name) => [name, now[name] - before[name]]),
  ) as unknown as CpuTimes;
}
