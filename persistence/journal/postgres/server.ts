/**
 * Connections to the cluster of a journal, and the proof that what it commits is on two machines.
 */
import pg from 'pg';
import { JournalError, JournalUnavailable } from '../errors.js';
import { FORMAT_VERSION } from '../format.js';
import { describeAddress, type PostgresAddress } from './address.js';
import { TABLES_SQL } from './schema.js';

const CONNECT_MS = 3_000;
/** Times without an answer, after which a connection counts as lost. */
const KEEP_ALIVE_MS = 5_000;

/** Which node: the one that takes writes, or any that answers. */
export type NodeKind = 'primary' | 'any';

/**
 * A connection to the first node of that kind.
 * @throws JournalUnavailable when there is none.
 */
export async function connect(address: PostgresAddress, kind: NodeKind): Promise<pg.Client> {
  const problems: string[] = [];
  for (const node of address.nodes) {
    const client = clientOf(address, node);
    // An error of an idle connection has no caller; the next query reports it.
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query('SELECT pg_is_in_recovery() AS "isStandby"');
      if (kind === 'any' || !rows[0].isStandby) return client;
      problems.push(`${node.host}:${node.port} is a standby`);
    } catch (error) {
      problems.push(`${node.host}:${node.port}: ${(error as Error).message}`);
    }
    await client.end().catch(() => {});
  }
  throw new JournalUnavailable(
    `no node of ${describeAddress(address)} takes writes: ${problems.join('; ')}`,
    null,
  );
}

function clientOf(
  { user, database, password, authority }: PostgresAddress,
  { host, port }: { host: string; port: number },
): pg.Client {
  return new pg.Client({
    host,
    port,
    user,
    database,
    ...(password === null ? {} : { password }),
    ...(authority === null ? {} : { ssl: { ca: authority, rejectUnauthorized: true } }),
    application_name: 'quarter-hour-exchange',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
}

/** Settings without which a commit could be lost although it was acknowledged. */
const REQUIRED: readonly [name: string, isGood: (value: string) => boolean, why: string][] = [
  ['fsync', (value) => value === 'on', 'a power cut could lose what was acknowledged'],
  ['full_page_writes', (value) => value === 'on', 'a power cut could tear pages'],
  [
    'synchronous_commit',
    (value) => value === 'on' || value === 'remote_apply',
    'a commit would be acknowledged before it is on disk',
  ],
];
/** FIRST or ANY, with a number of standbys of at least one. */
const QUORUM = /^\s*(?:ANY|FIRST)?\s*[1-9]\d*\s*\(.+\)\s*$/i;

/**
 * @throws JournalError with the first setting under which an acknowledged command could be lost.
 *   `isUnreplicated` permits a cluster of one node.
 */
export async function proveDurability(client: pg.Client, isUnreplicated: boolean): Promise<void> {
  for (const [name, isGood, why] of REQUIRED) {
    const value = await settingOf(client, name);
    if (!isGood(value)) throw unsafe(name, value, why);
  }
  if (isUnreplicated) return;
  const name = 'synchronous_standby_names';
  const value = await settingOf(client, name);
  const why = 'a commit would be on one machine only: name the standbys, as in ANY 1 (b, c)';
  if (!QUORUM.test(value)) throw unsafe(name, value, why);
}

async function settingOf(client: pg.Client, name: string): Promise<string> {
  const { rows } = await client.query(`SELECT current_setting($1) AS value`, [name]);
  return rows[0].value;
}

function unsafe(name: string, value: string, why: string): JournalError {
  return new JournalError(
    `PostgreSQL has ${name} = '${value}', so ${why}. Nothing was written. Change the setting, ` +
      'or, for development alone, start with UNREPLICATED=on if it is the standbys that are missing.',
    null,
  );
}

/** Whether the journal's tables are there. @throws JournalError for those of another version. */
export async function hasTables(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(TABLES_SQL);
  if (rows.length === 0) return false;
  if (rows.length !== 2) throw new JournalError('the database has only a part of a journal', null);
  const { rows: writers } = await client.query('SELECT version FROM writer');
  const version = writers[0]?.version;
  if (version === FORMAT_VERSION) return true;
  throw new JournalError(
    `the journal in the database is of version ${version}; this program reads and writes version ` +
      `${FORMAT_VERSION}. Nothing was changed.`,
    null,
  );
}
