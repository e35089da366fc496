/** Waits for a cluster's copies. test/trials/cluster-kill promotes and replaces nodes. */

import { eventually } from '../eventually.js';
import type { PostgresCluster } from './postgres.js';

export async function untilStreaming(cluster: PostgresCluster): Promise<void> {
  await eventually(async () => {
    const sql = `SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'quorum'`;
    return (await cluster.query(cluster.primary, sql)).length === cluster.standbys.length;
  }, 60_000);
}
