/**
 * What befalls a cluster in a round: a process is killed or paused, and an operator does what there
 * is to do. Each fault ends when the process is back; the exchanges are started again by whoever
 * supervises them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { ClusterExchange } from '../../support/cluster/exchange.js';
import { failOver, rejoin } from '../../support/cluster/failover.js';
import type { PostgresNode } from '../../support/cluster/postgres.js';
import { until } from '../../support/cluster/until.js';
import type { Random } from '../../support/workload/random.js';

/** What an operator, or a program in the operator's place, needs to notice. */
const NOTICE_MS = 500;
/** Of what comes back by itself. */
const PAUSE_MS = 2_000;

export type Fault = (cluster: Cluster, random: Random) => Promise<void>;

export const FAULTS: Readonly<Record<string, Fault>> = {
  'leader killed': async (cluster) => {
    (await cluster.leader()).signal('SIGKILL');
  },
  'leader paused': async (cluster) => {
    const old = await cluster.leader();
    old.signal('SIGSTOP');
    try {
      await until('another leads', async () => (await cluster.leader()) !== old);
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
    // It comes back, thinks that it is the primary, and is removed.
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

/** A replica or a standby. */
async function otherExchange(cluster: Cluster, random: Random): Promise<ClusterExchange> {
  const leader = await cluster.leader();
  return random.pick(cluster.exchanges.filter((exchange) => exchange !== leader));
}

/** A process that was killed leaves its shared memory behind, and PostgreSQL may find it in use. */
function startAgain({ postgres }: Cluster, node: PostgresNode): Promise<void> {
  return until(`PostgreSQL ${node.name} starts again`, async () => {
    await postgres.startNode(node);
    return true;
  });
}
