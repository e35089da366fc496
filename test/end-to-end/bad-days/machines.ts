/**
 * Exchanges on machines of their own, so to speak: each has its own folder, and all share a journal
 * on a real cluster of PostgreSQL.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresCluster } from '../../../bench/cluster/postgres.js';
import { ChildServer } from '../../support/child-server.js';
import type { ApiClient } from '../../support/server.js';

export class Machines {
  private readonly work = mkdtempSync(join(tmpdir(), 'exchange-machines-'));
  private folders = 0;
  private readonly running: ChildServer[] = [];
  private readonly clients: ApiClient[] = [];

  private constructor(readonly cluster: PostgresCluster) {}

  static async start(): Promise<Machines> {
    return new Machines(await PostgresCluster.start());
  }

  /** A path that no exchange has used; nothing is there yet. */
  newFolder(): string {
    return join(this.work, `${++this.folders}`);
  }

  spawn(variables: Record<string, string> = {}): ChildServer {
    const server = ChildServer.spawn({
      DATA_FOLDER: this.newFolder(),
      JOURNAL: this.cluster.url,
      ASSETS: 'BTC',
      HOUSE: 'off',
      FEED_SPEED: '60',
      LOG_LEVEL: 'info',
      ...variables,
    });
    this.running.push(server);
    return server;
  }

  async listening(server: ChildServer): Promise<ApiClient> {
    const api = await server.listening();
    this.clients.push(api);
    return api;
  }

  /** Ends every exchange, also one that is paused. For afterEach. */
  async endExchanges(): Promise<void> {
    for (const client of this.clients.splice(0)) await client.close();
    for (const server of this.running.splice(0)) {
      server.child.kill('SIGCONT');
      await server.stop('SIGKILL');
    }
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    rmSync(this.work, { recursive: true, force: true });
  }
}
