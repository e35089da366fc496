/**
 * Connections to the cluster of a journal, and the proof that what it commits is on two machines.
 */
import type pg from 'pg';
import { JournalError, JournalUnavailable } from '../../journal/errors.js';
import { FORMAT_VERSION } from '../../journal/format.js';
import { describeAddress, type PostgresAddress, readSecrets } from './address.js';
import { SETTINGS_SQL, TABLES_SQL } from './schema.js';

const CONNECT_MS = 3_000;
/** Times without an answer, after which a connection counts as lost. */
const KEEP_ALIVE_MS = 5_000;

/** How long to wait for further answers after the first good one. */
const GRACE_MS = 250;
/** How long a reader waits for an answer before it counts its node as gone. */
const READ_MS = 3_000;

/** `standby`: the standby that has most; the primary only without any. */
export type NodeKind = 'primary' | 'standby';

/** PostgreSQL does not accept the password, so it is not asked often. */
export class PasswordRefused extends JournalUnavailable {
  override name = 'PasswordRefused';
}

/** A code of PostgreSQL: the password is wrong, was replaced, or has ended. */
const WRONG_PASSWORD = '28P01';

interface Answering {
  client: pg.Client;
  isStandby: boolean;
  /** A primary's timeline, which grows with each promotion: of two primaries the older is gone. */
  timeline: number;
  /** The standby's position in the write-ahead log, in bytes. */
  receivedBytes: number;
}

const ASK_SQL = `
  SELECT pg_is_in_recovery() AS "isStandby",
    CASE WHEN pg_is_in_recovery() THEN '0'
      ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS timeline,
    coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)::float8 AS "receivedBytes"`;

/**
 * A connection to the best node of that kind. All are asked at once, so one that does not answer
 * costs no time. Only a writer's connection waits for an answer without limit.
 * @throws JournalUnavailable when there is none.
 */
export async function connect(address: PostgresAddress, kind: NodeKind): Promise<pg.Client> {
  const problems: string[] = [];
  let isRefused = false;
  const found: Answering[] = [];
  let isOver = false;
  let enough = () => {};
  const isEnough = new Promise<void>((resolve) => (enough = resolve));
  const suits = ({ isStandby }: Answering) => isStandby === (kind === 'standby');
  const asked = address.nodes.map(async (node) => {
    const name = `${node.host}:${node.port}`;
    try {
      const client = await clientOf(address, node, kind === 'primary' ? 0 : READ_MS);
      const answering = await ask(client);
      if (isOver) return await end(answering);
      found.push(answering);
      if (!suits(answering)) problems.push(`${name} is a standby`);
      else setTimeout(enough, GRACE_MS);
    } catch (error) {
      isRefused ||= (error as { code?: string }).code === WRONG_PASSWORD;
      problems.push(`${name}: ${inWords(error as Error)}`);
    }
  });
  await Promise.race([isEnough, Promise.all(asked)]);
  isOver = true;
  const usable = kind === 'standby' ? found : found.filter(suits);
  const [best] = usable.sort(byMerit);
  for (const other of found) if (other !== best) void end(other);
  if (best !== undefined) return best.client;
  const does = kind === 'primary' ? 'takes writes' : 'answers';
  const problem = `no node of ${describeAddress(address)} ${does}: ${problems.sort().join('; ')}`;
  if (!isRefused) throw new JournalUnavailable(problem, null);
  const { user, passwordFile: file } = address;
  throw new PasswordRefused({
    problem,
    file,
    remedy:
      `PostgreSQL does not accept the password of ${user}: the password is wrong or has expired (VALID UNTIL). Write the ` +
      `current password to ${file ?? 'a file (JOURNAL_PASSWORD_FILE, --password-file)'}, or extend it (ALTER ROLE ` +
      `${user} VALID UNTIL 'infinity'). Each connection reads the file, so no restart is needed`,
  });
}

/** Replaces the driver's message for a missing password with one for operators. */
function inWords({ message }: Error): string {
  if (!message.includes('client password must be a string')) return message;
  return 'requires a password; set JOURNAL_PASSWORD_FILE (--password-file) to a file that contains it';
}

/** Standbys before primaries, then the one that has most, then the younger timeline. */
function byMerit(a: Answering, b: Answering): number {
  return (
    Number(b.isStandby) - Number(a.isStandby) ||
    b.receivedBytes - a.receivedBytes ||
    b.timeline - a.timeline
  );
}

async function ask(client: pg.Client): Promise<Answering> {
  // An error of an idle connection has no caller; the next query reports it.
  client.on('error', () => {});
  try {
    await client.connect();
    // Missing from the types of pg.
    const query: pg.QueryConfig & { query_timeout: number } = {
      text: ASK_SQL,
      query_timeout: READ_MS,
    };
    const { rows } = await client.query(query);
    const { isStandby, timeline, receivedBytes } = rows[0];
    return { client, isStandby, timeline: Number.parseInt(timeline, 16), receivedBytes };
  } catch (error) {
    void client.end().catch(() => {});
    throw error;
  }
}

function end({ client }: Answering): Promise<void> {
  return client.end().catch(() => {});
}

async function clientOf(
  address: PostgresAddress,
  { host, port }: { host: string; port: number },
  queryMs: number,
): Promise<pg.Client> {
  const { user, database } = address;
  const { password, authority } = readSecrets(address);
  // Most exchanges never need it: loading it would be a tenth of their start.
  const { default: pg } = await import('pg');
  return new pg.Client({
    host,
    port,
    user,
    database,
    ...(password === null ? {} : { password }),
    ...(authority === null ? {} : { ssl: { ca: authority, rejectUnauthorized: true } }),
    application_name: 'quarter-hour-exchange',
    connectionTimeoutMillis: CONNECT_MS,
    ...(queryMs === 0 ? {} : { query_timeout: queryMs }),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
}

export type DurabilitySettings = Record<string, unknown>;

/** Matches `N (names)`, `ANY N (names)` and `FIRST N (names)`, with N at least 1. */
const QUORUM = /^\s*(?:ANY|FIRST)?\s*[1-9]\d*\s*\(.+\)\s*$/i;

const REQUIRED: readonly [name: string, isGood: (value: string) => boolean, why: string][] = [
  ['fsync', (value) => value === 'on', 'a power cut could lose what was acknowledged'],
  ['full_page_writes', (value) => value === 'on', 'a power cut could tear pages'],
  [
    'synchronous_commit',
    (value) => value === 'on' || value === 'remote_apply',
    'a commit would be acknowledged before it is on disk',
  ],
  [
    'synchronous_standby_names',
    (value) => QUORUM.test(value),
    'a commit would be on one machine only: name the standbys, as in ANY 1 (b, c)',
  ],
];

/**
 * Why the settings could lose an acknowledged command; null if they cannot. `isUnreplicated`
 * permits a single node.
 */
export function durabilityProblem(
  settings: DurabilitySettings,
  isUnreplicated: boolean,
): JournalError | null {
  for (const [name, isGood, why] of REQUIRED) {
    if (isUnreplicated && name === 'synchronous_standby_names') continue;
    const value = String(settings[name]);
    if (!isGood(value)) return unsafe(name, value, why);
  }
  return null;
}

export async function proveDurability(client: pg.Client, isUnreplicated: boolean): Promise<void> {
  const { rows } = await client.query(SETTINGS_SQL);
  const problem = durabilityProblem(rows[0], isUnreplicated);
  if (problem !== null) throw problem;
}

function unsafe(name: string, value: string, why: string): JournalError {
  return new JournalError(
    `PostgreSQL has ${name} = '${value}', so ${why}. The exchange acknowledges nothing under this setting. Change the ` +
      'setting, or, for development alone, accept missing standbys: UNREPLICATED=on for an exchange, ' +
      '--unreplicated for copy.',
    null,
  );
}

/** Whether the journal's tables exist. @throws JournalError for tables of a different version. */
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
