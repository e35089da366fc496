/**
 * The faults of a cluster: a process is killed or paused, and an operator acts as documented. Each
 * fault ends when the process is back; a supervisor restarts the exchanges.
 */
import { randomBytes } from 'node:crypto';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { ClusterExchange } from '../../support/cluster/exchange.js';
import { PASSWORD_USER, type PostgresNode } from '../../support/cluster/postgres.js';
import { eventually } from '../../support/eventually.js';
import type { Random } from '../../support/workload/random.js';
import { failOver, rejoin, rollOut } from './procedures.js';

/** The time in which an operator, or a program in the operator's place, notices a fault. */
const NOTICE_MS = 500;
/** The length of a pause that ends by itself. */
const PAUSE_MS = 2_000;
const GONE_MS = 8_000;
const HOUR_MS = 3_600_000;

const ROOT = join(import.meta.dirname, '../../..');
let versions = 0;

export type Fault = (cluster: Cluster, random: Random) => Promise<void>;

export const FAULTS: Readonly<Record<string, Fault>> = {
  'leader killed': async (cluster) => {
    (await cluster.leader()).signal('SIGKILL');
  },
  'leader paused': async (cluster) => {
    const old = await cluster.leader();
    old.signal('SIGSTOP');
    try {
      await eventually(async () => (await cluster.leader()) !== old, 60_000);
    } finally {
      old.signal('SIGCONT');
    }
  },
  'primary killed': async (cluster) => {
    const { primary } = cluster.postgres;
    cluster.postgres.signalNode(primary, 'SIGKILL');
    await sleep(NOTICE_MS);
    await failOver(cluster.postgres);
    await rejoin(cluster.postgres, primary);
  },
  'primary paused': async (cluster) => {
    const { postgres } = cluster;
    const { primary } = postgres;
    postgres.signalNode(primary, 'SIGSTOP');
    await sleep(NOTICE_MS);
    await failOver(postgres);
    // The node comes back, believes that it is the primary, and is removed.
    postgres.signalNode(primary, 'SIGCONT');
    await sleep(NOTICE_MS);
    postgres.signalNode(primary, 'SIGKILL');
    await rejoin(postgres, primary);
  },
  'standby of PostgreSQL killed': async (cluster, random) => {
    const node = random.pick(cluster.postgres.standbys);
    cluster.postgres.signalNode(node, 'SIGKILL');
    await sleep(PAUSE_MS);
    await startAgain(cluster, node);
  },
  'standby of PostgreSQL paused': async (cluster, random) => {
    const node = random.pick(cluster.postgres.standbys);
    cluster.postgres.signalNode(node, 'SIGSTOP');
    await sleep(PAUSE_MS);
    cluster.postgres.signalNode(node, 'SIGCONT');
  },
  'all standbys of PostgreSQL killed': async (cluster) => {
    const { standbys } = cluster.postgres;
    for (const node of standbys) cluster.postgres.signalNode(node, 'SIGKILL');
    // The lease ends during this time.
    await sleep(GONE_MS);
    for (const node of standbys) await startAgain(cluster, node);
  },
  "the leader's clock jumps, then it is killed": async (cluster, random) => {
    const leader = await cluster.leader();
    await withWrongClock(leader, { cluster, random }, async () => {
      leader.signal('SIGKILL');
      await eventually(async () => (await cluster.leader()) !== leader, 60_000);
    });
  },
  "the standby's clock jumps, then the leader is killed": async (cluster, random) => {
    const leader = await cluster.leader();
    const standby = cluster.exchanges.find((each) => !each.isReplica && each !== leader)!;
    await withWrongClock(standby, { cluster, random }, async () => {
      leader.signal('SIGKILL');
      // The killed leader restarts as a standby, with a correct clock.
      await eventually(async () => (await cluster.leader()) === leader, 60_000);
    });
  },
  "the journal's password ends": async (cluster, random) => {
    const { postgres } = cluster;
    const isReplaced = random.chance(0.5);
    const next = randomBytes(16).toString('hex');
    const end = isReplaced ? `PASSWORD '${next}'` : "VALID UNTIL '2020-01-01'";
    const alter = (how: string) =>
      postgres.query(postgres.primary, `ALTER ROLE ${PASSWORD_USER} ${how}`);
    const marks = cluster.exchanges.map(({ log }) => log.length);
    await alter(end);
    await sleep(NOTICE_MS);
    for (const node of postgres.nodes) await postgres.disconnect(node, PASSWORD_USER);
    for (const [i, exchange] of cluster.exchanges.entries())
      await eventually(() => exchange.log.slice(marks[i]).includes(remedyFor(cluster)), 60_000);
    if (isReplaced) cluster.setPassword(next);
    else await alter("VALID UNTIL 'infinity'");
  },
  'the password is replaced while all runs': async (cluster, random) => {
    const { postgres } = cluster;
    const next = randomBytes(16).toString('hex');
    cluster.setPassword(next);
    const sql = `ALTER ROLE ${PASSWORD_USER} PASSWORD '${next}' VALID UNTIL 'infinity'`;
    await postgres.query(postgres.primary, sql);
    // All exchanges but the leader need a new connection.
    await postgres.disconnect(random.pick(postgres.standbys), PASSWORD_USER);
    await sleep(PAUSE_MS);
  },
  'a new version is rolled out': async (cluster) => {
    const folder = join(cluster.folder, `version-${++versions}`);
    cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const version = `${own.version}-next.${versions}`;
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...own, version }));
    await rollOut(cluster, join(folder, 'dist/gateway/main.js'));
    for (const { url, name } of cluster.exchanges) {
      const status = (await (await fetch(`${url}/status`)).json()) as { version: string };
      if (status.version !== version) throw new Error(`${name} has version ${status.version}`);
    }
  },
  'other exchange killed': async (cluster, random) => {
    (await otherExchange(cluster, random)).signal('SIGKILL');
  },
  'other exchange paused': async (cluster, random) => {
    const exchange = await otherExchange(cluster, random);
    exchange.signal('SIGSTOP');
    await sleep(PAUSE_MS);
    exchange.signal('SIGCONT');
  },
};

/** The remedy that each exchange must report when its password has ended. */
function remedyFor({ passwordFile }: Cluster): string {
  return `Write the current password to ${passwordFile}`;
}

/** The file with the shift of an exchange's clock. */
export function clockFileOf(name: string, folder: string): string {
  return join(folder, `${name}.clock`);
}

/** Shifts the clock of an exchange by an hour while `during` runs. */
async function withWrongClock(
  { name }: ClusterExchange,
  { cluster, random }: { cluster: Cluster; random: Random },
  during: () => Promise<void>,
): Promise<void> {
  const file = clockFileOf(name, cluster.folder);
  writeFileSync(file, `${random.pick([-HOUR_MS, HOUR_MS])}`);
  try {
    await sleep(PAUSE_MS);
    await during();
  } finally {
    writeFileSync(file, '0');
  }
}

/** A replica or a standby. */
async function otherExchange(cluster: Cluster, random: Random): Promise<ClusterExchange> {
  const leader = await cluster.leader();
  return random.pick(cluster.exchanges.filter((exchange) => exchange !== leader));
}

/**
 * Starts a node again. A killed process leaves its shared memory behind, which PostgreSQL may find
 * in use.
 */
function startAgain({ postgres }: Cluster, node: PostgresNode): Promise<void> {
  return eventually(async () => {
    await postgres.startNode(node);
    return true;
  }, 60_000);
}
