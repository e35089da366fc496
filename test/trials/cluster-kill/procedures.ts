/**
 * The procedures of OPERATIONS.md for a lost primary, a node that comes back, and a new version of
 * the exchange, with the statements and settings of that page, in their order. The project does not
 * install pg_basebackup: without the machine's programs (POSTGRES_PROGRAMS), the folder is copied
 * in another way.
 */
import { execFile as execFileCallback } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { ClusterExchange } from '../../support/cluster/exchange.js';
import type { PostgresCluster, PostgresNode } from '../../support/cluster/postgres.js';
import { eventually } from '../../support/eventually.js';

const execFile = promisify(execFileCallback);
const ROOT = join(import.meta.dirname, '../../..');
const OPERATIONS = join(ROOT, 'dist/persistence/tools/operations/main.js');
const WRITTEN = readFileSync(join(ROOT, 'persistence/OPERATIONS.md'), 'utf8');
const COPY = /^ {4}pg_basebackup (.*)$/m;
const PROMOTE = 'pg_ctl -D <data folder> promote';

/** The blocks of code of a section. */
function blocksOf(section: string): string[] {
  const from = WRITTEN.split(`#### ${section}\n`)[1];
  if (from === undefined) throw new Error(`OPERATIONS.md has no section ${section}`);
  const text = from.split('\n#')[0]!;
  return Array.from(text.matchAll(/```\w+\n([\s\S]*?)```/g), ([, block]) => block!);
}

/** Fills in the placeholders of a block, as an operator does. @throws Error if one is left */
function filled(block: string, node: PostgresNode, { primary, nodes }: PostgresCluster): string {
  const others = nodes.filter((other) => other !== node).map(({ name }) => name);
  const values: Record<string, string> = {
    'new primary': '127.0.0.1',
    'its port': `${primary.port}`,
    'replication user': 'postgres',
    'own name': node.name,
    'the two other nodes': others.join(', '),
    'data folder': node.folder,
  };
  return block.replace(/<([^>]+)>/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`OPERATIONS.md asks for ${name}`);
    return value;
  });
}

/** Runs a block and returns the rows of its last statement. */
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
    await eventually(async () => {
      return (await run(cluster, standby, receiver!)).length === 0;
    }, 60_000);
  const ends = await Promise.all(standbys.map((standby) => run(cluster, standby, received!)));
  const [first, second] = standbys as [PostgresNode, PostgresNode];
  const isFirst = bytesOf(ends[0]!) >= bytesOf(ends[1]!);
  const [next, other] = isFirst ? [first, second] : [second, first];
  if (!WRITTEN.includes(PROMOTE)) throw new Error(`OPERATIONS.md no longer says ${PROMOTE}`);
  await cluster.promote(next);
  cluster.primary = next;
  await run(cluster, other, follow!);
}

/**
 * Replaces a node's data with a copy of the primary's, and waits until all copies are connected.
 */
export async function rejoin(cluster: PostgresCluster, node: PostgresNode): Promise<void> {
  const [settings, copies] = blocksOf('A node comes back');
  const copying = filled(COPY.exec(WRITTEN)![1]!, node, cluster).split(' ');
  await cluster.rebuild(node, filled(settings!, node, cluster), copying);
  await eventually(async () => {
    const rows = await run(cluster, cluster.primary, copies!);
    const quorum = rows.filter((row) => row['sync_state'] === 'quorum');
    return quorum.length === cluster.standbys.length;
  }, 60_000);
}

/** Replaces the program of every process, in the documented order. */
export async function rollOut(cluster: Cluster, program: string): Promise<void> {
  const section = WRITTEN.split('#### A new version of the exchange, without a pause\n')[1]!;
  const steps = Array.from(section.split('\n#')[0]!.matchAll(/^\d\. `?(\w+ ?\w*)/gm), ([, s]) => s);
  if (steps.join() !== 'Each replica,The standby,npm run')
    throw new Error(`OPERATIONS.md says ${steps}`);
  const replace = async (exchange: ClusterExchange) => {
    exchange.program = program;
    const { pid } = exchange;
    await exchange.stop('SIGTERM');
    await eventually(() => exchange.isRunning && exchange.pid !== pid, 60_000);
  };
  const [first, ...others] = cluster.replicas;
  await replace(first!);
  await eventually(() => first!.isWell(), 60_000);
  const leader = await cluster.leader();
  const standby = cluster.exchanges.find((each) => !each.isReplica && each !== leader)!;
  await replace(standby);
  await standby.untilWarm();
  leader.program = program;
  const { pid } = leader;
  const where = ['--journal', cluster.postgres.urlWithPassword];
  const takeover = [OPERATIONS, 'takeover', ...where, '--password-file', cluster.passwordFile];
  // The standby may not have reported yet that it waits.
  await eventually(() => execFile(process.execPath, takeover).then(() => true), 60_000);
  await eventually(() => leader.isRunning && leader.pid !== pid, 60_000);
  await leader.untilWarm();
  for (const replica of others) {
    await replace(replica);
    await eventually(() => replica.isWell(), 60_000);
  }
}

/** A position in the write-ahead log, which PostgreSQL prints as two hexadecimal numbers. */
function bytesOf([row]: Record<string, unknown>[]): bigint {
  const [high, low] = `${Object.values(row!)[0]}`.split('/').map((half) => BigInt(`0x${half}`));
  return (high! << 32n) + low!;
}
