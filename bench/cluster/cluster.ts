/**
 * A whole cluster on this machine: three nodes of PostgreSQL with the journal, and the exchanges
 * that share it. Everything is in temporary folders, and ends with `stop`.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SECRET_FILE, sessionSecret } from '../../gateway/auth/secret.js';
import { ClusterExchange, type ClusterExchangeOptions } from './exchange.js';
import { untilStreaming } from './failover.js';
import { freePort, PostgresCluster } from './postgres.js';
import { until } from './until.js';

/** The exchanges of a cluster, the leader first. */
export const NAMES = ['leader', 'standby'] as const;

export interface ClusterOptions {
  /** For all exchanges. */
  environment?: Readonly<Record<string, string>>;
  onEnd?: (name: string, status: number | NodeJS.Signals) => void;
  /** An exchange that has ended is started again, as systemd does. */
  isSupervised?: boolean;
}

const RESTART_MS = 500;

export class Cluster {
  private isStopping = false;

  private constructor(
    readonly folder: string,
    readonly postgres: PostgresCluster,
    readonly exchanges: ClusterExchange[],
  ) {}

  /** Returns when the leader serves. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'exchange-cluster-'));
    const postgres = await PostgresCluster.start();
    const cluster = new Cluster(folder, postgres, []);
    try {
      await untilStreaming(postgres);
      for (const name of NAMES) await cluster.startExchange(name, options);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The exchange that serves commands, as soon as there is one. */
  async leader(): Promise<ClusterExchange> {
    let found: ClusterExchange | undefined;
    await until('an exchange leads', async () => {
      for (const exchange of this.exchanges) if (await exchange.isOpen()) found ??= exchange;
      return found !== undefined;
    });
    return found!;
  }

  /** With supervision: until those that have ended are started again. */
  async untilAllRun(): Promise<void> {
    await until('all exchanges run', () => this.exchanges.every(({ isRunning }) => isRunning));
  }

  /** Ends every process by its id, the leader last, and removes all files. */
  async stop(): Promise<void> {
    this.isStopping = true;
    for (const exchange of this.exchanges.toReversed()) await exchange.stop('SIGTERM');
    await this.postgres.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async startExchange(
    name: string,
    { environment = {}, onEnd = () => {}, isSupervised = false }: ClusterOptions,
  ): Promise<void> {
    const options: ClusterExchangeOptions = {
      name,
      port: await freePort(),
      logFile: join(this.folder, `${name}.log`),
      environment: {
        DATA_FOLDER: this.dataFolder(name),
        JOURNAL: this.postgres.url,
        ...environment,
      },
      onEnd: (status) => {
        onEnd(name, status);
        if (isSupervised) setTimeout(() => this.restart(exchange), RESTART_MS);
      },
    };
    const exchange = new ClusterExchange(options);
    this.exchanges.push(exchange);
    if (name === 'leader') await exchange.untilOpen();
  }

  private restart(exchange: ClusterExchange): void {
    if (!this.isStopping) exchange.restart();
  }

  /** With the same secret for all, so that a session is valid on each of them. */
  private dataFolder(name: string): string {
    const data = join(this.folder, name);
    mkdirSync(data, { mode: 0o700 });
    const first = join(this.folder, NAMES[0]);
    if (data === first) sessionSecret(data);
    else copyFileSync(join(first, SECRET_FILE), join(data, SECRET_FILE));
    return data;
  }
}
