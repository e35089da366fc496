/**
 * A whole cluster on this machine: three nodes of PostgreSQL with the journal, a leader and a
 * standby that share it, and two replicas. Everything is in temporary folders; `stop` ends it all.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionSecrets } from '../../../gateway/access/secret.js';
import { SECRET_FILE } from '../../../persistence/storage/session-secret.js';
import { eventually } from '../eventually.js';
import { freePort } from '../processes/free-port.js';
import { untilStreaming } from './copies.js';
import { ClusterExchange, type Role } from './exchange.js';
import { PostgresCluster } from './postgres.js';

/** The first exchange leads initially; the second is its standby. */
const EXCHANGES = ['exchange-1', 'exchange-2'] as const;
const REPLICAS = ['replica-1', 'replica-2'] as const;

export interface ClusterOptions {
  environment?: Readonly<Record<string, string>>;
  /** Additional environment variables of an exchange or replica. */
  environmentOf?: (name: string, folder: string) => Readonly<Record<string, string>>;
  /** The built program. Default: this build's. */
  program?: string;
  onEnd?: (name: string, status: number | NodeJS.Signals) => void;
}

/** Like systemd, the cluster restarts a process that has ended, an exchange as a standby. */
const RESTART_MS = 500;

export class Cluster {
  readonly operatorKey = randomBytes(16).toString('hex');
  private isStopping = false;

  private constructor(
    readonly folder: string,
    readonly postgres: PostgresCluster,
    /** All exchanges, then all replicas. */
    readonly exchanges: ClusterExchange[],
  ) {}

  get replicas(): ClusterExchange[] {
    return this.exchanges.filter(({ isReplica }) => isReplica);
  }

  /** Returns once the leader and the replicas serve and the standby is warm. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'exchange-cluster-'));
    const postgres = await PostgresCluster.start();
    const cluster = new Cluster(folder, postgres, []);
    try {
      await untilStreaming(postgres);
      cluster.setPassword(randomBytes(16).toString('hex'));
      await postgres.addPasswordUser(cluster.password);
      const shared = { ...cluster.shared(), ...options.environment };
      const [first, second] = EXCHANGES;
      const leader = await cluster.startExchange(first, 'leader', shared, options);
      await leader.untilOpen();
      const standby = await cluster.startExchange(second, 'standby', shared, options);
      for (const name of REPLICAS) await cluster.startExchange(name, 'replica', shared, options);
      await standby.untilWarm();
      for (const replica of cluster.replicas) await replica.untilOpen();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The file with the journal's password. */
  get passwordFile(): string {
    return join(this.folder, 'journal-password');
  }

  get password(): string {
    return readFileSync(this.passwordFile, 'utf8').trim();
  }

  /** Exchanges and replicas use this password from their next connection on. */
  setPassword(password: string): void {
    writeFileSync(this.passwordFile, `${password}\n`, { mode: 0o600 });
  }

  /** Waits for an exchange that serves commands. */
  async leader(): Promise<ClusterExchange> {
    let found: ClusterExchange | undefined;
    await eventually(async () => {
      for (const exchange of this.exchanges)
        if (!exchange.isReplica && (await exchange.isOpen())) found ??= exchange;
      return found !== undefined;
    }, 60_000);
    return found!;
  }

  /** Waits until ended processes are restarted. */
  async untilAllRun(): Promise<void> {
    await eventually(() => this.exchanges.every(({ isRunning }) => isRunning), 60_000);
  }

  /** Ends the exchanges and replicas, the leader last. The journal stays. */
  async stopExchanges(): Promise<void> {
    this.isStopping = true;
    for (const exchange of this.exchanges.toReversed()) await exchange.stop('SIGTERM');
  }

  /** Ends every process by its id and removes all files. */
  async stop(): Promise<void> {
    await this.stopExchanges();
    await this.postgres.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async startExchange(
    name: string,
    role: Role,
    environment: Readonly<Record<string, string>>,
    { program, environmentOf = () => ({}), onEnd = () => {} }: ClusterOptions,
  ): Promise<ClusterExchange> {
    const isReplica = role === 'replica';
    const exchange: ClusterExchange = new ClusterExchange({
      name,
      role,
      roleAfterwards: isReplica ? 'replica' : 'standby',
      port: await freePort(),
      operationsPort: await freePort(),
      logFile: join(this.folder, `${name}.log`),
      ...(program === undefined ? {} : { program }),
      environment: {
        ...environment,
        ...environmentOf(name, this.folder),
        DATA_FOLDER: join(this.folder, name),
        ...(isReplica ? {} : { REPLICAS_PORT: `${await freePort()}` }),
      },
      onEnd: (status) => {
        onEnd(name, status);
        setTimeout(() => this.restart(exchange), RESTART_MS);
      },
    });
    this.exchanges.push(exchange);
    return exchange;
  }

  private restart(exchange: ClusterExchange): void {
    if (!this.isStopping) exchange.restart();
  }

  /** The variables for the journal and for the common secrets. */
  private shared(): Record<string, string> {
    const secrets = join(this.folder, 'secrets');
    mkdirSync(secrets, { mode: 0o700 });
    sessionSecrets(secrets);
    const key = join(secrets, 'replicas-key');
    writeFileSync(key, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    return {
      JOURNAL: this.postgres.urlWithPassword,
      JOURNAL_PASSWORD_FILE: this.passwordFile,
      REPLICAS_KEY_FILE: key,
      SESSION_SECRET_FILE: join(secrets, SECRET_FILE),
      OPERATOR_KEYS: `you:${createHash('sha256').update(this.operatorKey).digest('hex')}`,
    };
  }
}
