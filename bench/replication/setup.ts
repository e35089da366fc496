/**
 * An exchange under load whose journal is on PostgreSQL, and the replicas in front of it; and where
 * their CPU time goes.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionSecrets } from '../../gateway/access/secret.js';
import { SECRET_FILE } from '../../persistence/storage/session-secret.js';
import type { PostgresCluster } from '../cluster/postgres.js';
import { until } from '../cluster/until.js';
import { ExchangeUnderLoad, environmentIn } from '../http/exchange-under-load.js';
import { Client } from '../http/load/client.js';
import { ExchangeProcess } from '../measure/exchange-process.js';
import { cpuMsOf, mainThreadCpuMsOf } from '../measure/process-cpu.js';

type Stoppable = { stop(): Promise<void> };
export type Started = <P extends Stoppable>(process: P) => P;

/** Where requests go in, and all processes that take part. */
export interface Setup {
  name: string;
  leader: ExchangeUnderLoad;
  replicas: ExchangeProcess[];
  /** null: the journal is on SQLite. */
  postgres: PostgresCluster | null;
}

/** The ports for clients: of the replicas, or of the leader if there is none. */
export function portsOf({ leader, replicas }: Setup): number[] {
  return replicas.length === 0 ? [leader.port] : replicas.map(({ port }) => port);
}

/** On SQLite, or on PostgreSQL with that many replicas. */
export async function startSetup(
  name: string,
  {
    folder,
    postgres,
    replicas,
  }: { folder: string; postgres: PostgresCluster | null; replicas: number },
  started: Started,
): Promise<Setup> {
  if (postgres === null) {
    const leader = await ExchangeUnderLoad.start(folder, { profileFolder: null }, started);
    return { name, leader, replicas: [], postgres };
  }
  await postgres.dropJournal();
  const shared = sharedVariables(folder, postgres);
  const variables = { ...shared, REPLICAS_PORT: '0' };
  const leader = await ExchangeUnderLoad.start(folder, { variables, profileFolder: null }, started);
  const setup: Setup = { name, leader, replicas: [], postgres };
  for (let i = 0; i < replicas; i++) {
    const variables = { ROLE: 'replica', DATA_FOLDER: join(folder, `replica-${i}`) };
    const environment = { ...environmentIn(folder), ...shared, ...variables };
    setup.replicas.push(started(await ExchangeProcess.start({ environment })));
  }
  return setup;
}

/** Waits until the leader's history and all replicas have what was durable. */
export async function untilFollowed({ leader, replicas }: Setup): Promise<void> {
  await leader.followed();
  const sequence = await leader.durableSequence();
  for (const replica of replicas) {
    const client = new Client(replica);
    const status = async () => (await client.mustAsk({ path: '/status' })).json;
    await until('a replica follows', async () => (await status()).durableSequence >= sequence);
    client.close();
  }
}

/** The secrets that leader and replicas have in common. */
function sharedVariables(folder: string, postgres: PostgresCluster): Record<string, string> {
  const secrets = join(folder, 'secrets');
  mkdirSync(secrets, { mode: 0o700 });
  sessionSecrets(secrets);
  const key = join(secrets, 'replicas-key');
  writeFileSync(key, 'a-key-of-replicas-for-a-benchmark-only', { mode: 0o600 });
  return {
    JOURNAL: postgres.url,
    REPLICAS_KEY_FILE: key,
    SESSION_SECRET_FILE: join(secrets, SECRET_FILE),
  };
}

/** CPU time by part: of the replicas and the nodes of PostgreSQL, the mean. NaN: there is none. */
export interface CpuTimes {
  leaderMs: number;
  leaderThreadMs: number;
  replicaMs: number;
  replicaThreadMs: number;
  postgresMs: number;
}

export function mean(times: readonly number[]): number {
  return times.length === 0 ? Number.NaN : times.reduce((sum, ms) => sum + ms, 0) / times.length;
}

export function cpuTimesOf({ leader, replicas, postgres }: Setup): CpuTimes {
  const pids = replicas.map(({ pid }) => pid);
  const nodes = postgres?.nodes ?? [];
  return {
    leaderMs: cpuMsOf([leader.pid]),
    leaderThreadMs: mainThreadCpuMsOf(leader.pid),
    replicaMs: mean(pids.map((pid) => cpuMsOf([pid]))),
    replicaThreadMs: mean(pids.map(mainThreadCpuMsOf)),
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
