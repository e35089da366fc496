/**
 * Rounds of faults under load, and the judgement at the end. The seed repeats the choice of the
 * faults and of the commands, not the moments at which they come.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Engine } from '../../../engine/engine.js';
import { JournalFollower } from '../../../persistence/recovery/recovery.js';
import { openSource } from '../../../persistence/replication/source.js';
import { Cluster } from '../../support/cluster/cluster.js';
import { untilStreaming } from '../../support/cluster/copies.js';
import type { PostgresCluster } from '../../support/cluster/postgres.js';
import { eventually } from '../../support/eventually.js';
import { withCommand } from '../../support/journal-fixture.js';
import { Executions, type Judgement, judge } from '../../support/load/judge.js';
import { type Acknowledgement, Load } from '../../support/load/load.js';
import { clockVariables } from '../../support/shifted-clock/variables.js';
import { Random } from '../../support/workload/random.js';
import { clockFileOf, FAULTS } from './faults.js';

export interface Round {
  fault: string;
  /** The longest time in which no client had an answer. */
  withoutServiceMs: number;
  /** The longest time in which no replica answered a read. */
  withoutReadsMs: number;
}

export interface KillResult {
  rounds: Round[];
  judgement: Judgement;
  counts: Record<'commands' | 'epochs' | 'acknowledged' | 'retries', number>;
}

const CLIENTS = 9;
const PAUSE_MS = 60;
const HEALTHY_MS = 1_000;
const READ_EVERY_MS = 50;
const READ_MS = 1_000;
/** How much of each log is shown if a round does not end. */
const LOG_TAIL = 3_000;
const ENVIRONMENT = {
  ASSETS: 'BTC',
  HOUSE: 'off',
  FAIR_USE: 'off',
  PASSWORD_COST_LOG2: '10',
  LOG_LEVEL: 'warn',
};

/** Each fault once in a random order, then random ones. */
export function faultsOf(seed: string, rounds: number, all = Object.keys(FAULTS)): string[] {
  const random = new Random(seed);
  const left = [...all];
  return Array.from({ length: rounds }, () => {
    const fault = random.pick(left.length === 0 ? all : left);
    if (left.length > 0) left.splice(left.indexOf(fault), 1);
    return fault;
  });
}

export async function killRounds(options: {
  faults: readonly string[];
  seed: string;
  report: (line: string) => void;
}): Promise<KillResult> {
  const { seed, report } = options;
  const random = new Random(seed);
  const cluster = await Cluster.start({
    environment: ENVIRONMENT,
    environmentOf: (name, folder) => clockVariables(clockFileOf(name, folder)),
  });
  try {
    const urls = cluster.replicas.map(({ url }) => url);
    const load = new Load({
      urls: () => urls,
      random: new Random(`${seed}:load`),
      clients: CLIENTS,
      pauseMs: PAUSE_MS,
    });
    await load.start();
    const rounds: Round[] = [];
    for (const fault of options.faults) {
      const round = await oneRound(cluster, load, fault, random);
      rounds.push(round);
      report(
        `${rounds.length}: ${fault}, ${Math.round(round.withoutServiceMs)} ms without service, ` +
          `${Math.round(round.withoutReadsMs)} ms without reads`,
      );
    }
    await load.stop();
    const { executions, epochs, commands } = await readJournal(cluster.postgres);
    const counts = {
      commands,
      epochs,
      acknowledged: load.acknowledged.length,
      retries: load.retries,
    };
    return { rounds, judgement: judge(executions, load), counts };
  } catch (error) {
    for (const { name, log } of cluster.exchanges) report(`${name}: ${log.slice(-LOG_TAIL)}`);
    throw error;
  } finally {
    await cluster.stop();
  }
}

/** Reads the journal. The cluster must be whole, and nothing may write. */
async function readJournal(postgres: PostgresCluster) {
  const executions = new Executions();
  const engine = new Engine();
  const applied = withCommand((command) => executions.take(engine, command));
  const source = await openSource({ postgres: postgres.address });
  try {
    await new JournalFollower(engine, undefined, { applied }).follow(source);
  } finally {
    await source.close();
  }
  engine.checkInvariants();
  const sql = 'SELECT count(DISTINCT epoch) AS epochs FROM batch';
  const [row] = await postgres.query(postgres.primary, sql);
  return { executions, epochs: Number(row!['epochs']), commands: engine.sequence };
}

async function oneRound(
  cluster: Cluster,
  load: Load,
  fault: string,
  random: Random,
): Promise<Round> {
  const before = Math.max(0, load.acknowledged.length - 1);
  const startedMs = performance.now();
  const endReads = readAllTheTime(cluster);
  await FAULTS[fault]!(cluster, random);
  await untilStreaming(cluster.postgres);
  const isServed = () => (load.acknowledged.at(-1)?.receivedMs ?? 0) > servedAfterMs;
  const servedAfterMs = performance.now();
  await eventually(isServed, 60_000);
  await cluster.leader();
  await cluster.untilAllRun();
  await sleep(HEALTHY_MS);
  const withoutServiceMs = longestGapMs(load.acknowledged.slice(before), startedMs);
  return { fault, withoutServiceMs, withoutReadsMs: await endReads() };
}

/**
 * Reads from all replicas at the same time, as clients do, so that a paused replica delays no read.
 */
function readAllTheTime({ replicas }: Cluster): () => Promise<number> {
  let isOver = false;
  let longestMs = 0;
  let answeredMs = performance.now();
  const reading = async ({ url }: { url: string }) => {
    for (; !isOver; await sleep(READ_EVERY_MS)) {
      const signal = AbortSignal.timeout(READ_MS);
      const answer = await fetch(`${url}/markets/15m?asset=BTC`, { signal }).catch(() => null);
      await answer?.arrayBuffer().catch(() => {});
      const nowMs = performance.now();
      longestMs = Math.max(longestMs, nowMs - answeredMs);
      if (answer?.ok === true) answeredMs = nowMs;
    }
  };
  const running = Promise.all(replicas.map(reading));
  return async () => {
    isOver = true;
    await running;
    return longestMs;
  };
}

/** The longest time between two answers, from `fromMs` on. */
function longestGapMs(acknowledged: readonly Acknowledgement[], fromMs: number): number {
  let previousMs = fromMs;
  let longestMs = 0;
  for (const { receivedMs } of acknowledged) {
    longestMs = Math.max(longestMs, receivedMs - previousMs);
    previousMs = Math.max(previousMs, receivedMs);
  }
  return longestMs;
}
