/**
 * The procedures of OPERATIONS.md for a primary that is gone and a node that comes back, with the
 * statements and settings that are written there, in their order. Only the copy of the folder is
 * made otherwise: pg_basebackup is not among the programs that the project installs.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresCluster, PostgresNode } from '../../support/cluster/postgres.js';
import { until } from '../../support/cluster/until.js';

const WRITTEN = readFileSync(
  join(import.meta.dirname, '../../../persistence/OPERATIONS.md'),
  'utf8',
);
const PROMOTE = 'pg_ctl -D <data folder> promote';

/** The blocks of code of a section. */
function blocksOf(section: string): string[] {
  const from = WRITTEN.split(`#### ${section}\n`)[1];
  if (from === undefined) throw new Error(`OPERATIONS.md has no section ${section}`);
  const text = from.split('\n#')[0]!;
  return Array.from(text.matchAll(/```\w+\n([\s\S]*?)```/g), ([, block]) => block!);
}

/** As an operator fills it in. @throws Error if something is left to fill in */
function filled(block: string, node: PostgresNode, { primary, nodes }: PostgresCluster): string {
  const others = nodes.filter((other) => other !== node).map(({ name }) => name);
  const values: Record<string, string> = {
    'new primary': '127.0.0.1',
    'its port': `${primary.port}`,
    'replication user': 'postgres',
    'own name': node.name,
    'the two other nodes': others.join(', '),
  };
  return block.replace(/<([^>]+)>/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`OPERATIONS.md asks for ${name}`);
    return value;
  });
}

/** The rows of the last statement. */
async function run(cluster: PostgresCluster, node: PostgresNode, block: string) {
  let rows: Record<string, unknown>[] = [];
  for (const statement of filled(block, node, cluster).split(';'))
    if (statement.trim() !== '') rows = await cluster.query(node, statement);
  return rows;
}

/** Makes one of the standbys the primary. @throws Error if a standby cannot be reached */
export async function failOver(cluster: PostgresCluster): Promise<void> {
  const [leave, receiver, received, follow] = blocksOf('When the primary is gone');
  const { standbys } = cluster;
  for (const standby of standbys) await run(cluster, standby, leave!);
  for (const standby of standbys)
    await until('a standby leaves the old primary', async () => {
      return (await run(cluster, standby, receiver!)).length === 0;
    });
  const ends = await Promise.all(standbys.map((standby) => run(cluster, standby, received!)));
  const [first, second] = standbys as [PostgresNode, PostgresNode];
  const isFirst = bytesOf(ends[0]!) >= bytesOf(ends[1]!);
  const [next, other] = isFirst ? [first, second] : [second, first];
  if (!WRITTEN.includes(PROMOTE)) throw new Error(`OPERATIONS.md no longer says ${PROMOTE}`);
  await cluster.promote(next);
  cluster.primary = next;
  await run(cluster, other, follow!);
}

/** Replaces what a node has by a copy of the primary, and waits until all copies are there. */
export async function rejoin(cluster: PostgresCluster, node: PostgresNode): Promise<void> {
  const [settings, copies] = blocksOf('A node comes back');
  await cluster.rebuild(node, filled(settings!, node, cluster));
  await until('all copies are there', async () => {
    const rows = await run(cluster, cluster.primary, copies!);
    const quorum = rows.filter((row) => row['sync_state'] === 'quorum');
    return quorum.length === cluster.standbys.length;
  });
}

/** A place in the write-ahead log, as PostgreSQL prints it: two hexadecimal numbers. */
function bytesOf([row]: Record<string, unknown>[]): bigint {
  const [high, low] = `${Object.values(row!)[0]}`.split('/').map((half) => BigInt(`0x${half}`));
  return (high! << 32n) + low!;
}
