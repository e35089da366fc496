/**
 * What an operator does when the primary of the journal's cluster is away, dead or not.
 *
 * Always holds: no node is promoted before both standbys have stopped to take changes from the old
 * primary, so it can have nothing confirmed any more; and the one is promoted that has received
 * more, so it has everything that was acknowledged.
 */
import type { PostgresCluster, PostgresNode } from './postgres.js';
import { until } from './until.js';

/** Makes one of the standbys the primary. @throws Error if a standby cannot be reached */
export async function failOver(cluster: PostgresCluster): Promise<void> {
  const { standbys } = cluster;
  for (const standby of standbys) await cluster.follow(standby, null);
  for (const standby of standbys)
    await until('a standby leaves the old primary', async () => {
      const sql = 'SELECT 1 FROM pg_stat_wal_receiver';
      return (await cluster.query(standby, sql)).length === 0;
    });
  const received = await Promise.all(standbys.map((standby) => receivedBytes(cluster, standby)));
  const [first, second] = standbys as [PostgresNode, PostgresNode];
  const [next, other] = received[0]! >= received[1]! ? [first, second] : [second, first];
  await cluster.promote(next);
  cluster.primary = next;
  await cluster.follow(other, next);
}

/** Replaces what a node has by a copy of the primary, and waits until it confirms its commits. */
export async function rejoin(cluster: PostgresCluster, node: PostgresNode): Promise<void> {
  await cluster.rebuild(node);
  await untilStreaming(cluster);
}

/** Waits until all standbys follow the primary. */
export async function untilStreaming(cluster: PostgresCluster): Promise<void> {
  await until('all standbys follow the primary', async () => {
    const sql = `SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'quorum'`;
    return (await cluster.query(cluster.primary, sql)).length === cluster.standbys.length;
  });
}

async function receivedBytes(cluster: PostgresCluster, node: PostgresNode): Promise<bigint> {
  const sql = `SELECT GREATEST(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0' AS bytes`;
  return BigInt(`${(await cluster.query(node, sql))[0]!['bytes']}`);
}
