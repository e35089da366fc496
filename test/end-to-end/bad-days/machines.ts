/**
 * Exchanges as if on separate machines: each has its own folder, and all share a journal on a real
 * cluster of PostgreSQL.
 */
import { join } from 'node:path';
import { PostgresCluster } from '../../support/cluster/postgres.js';
import { type ChildServer, Exchanges } from '../../support/programs.js';

export class Machines extends Exchanges {
  private folders = 0;

  private constructor(readonly cluster: PostgresCluster) {
    super({ JOURNAL: cluster.url, ASSETS: 'BTC', HOUSE: 'off', FEED_SPEED: '60' });
  }

  static async start(): Promise<Machines> {
    return new Machines(await PostgresCluster.start());
  }

  /** A path that does not exist and that no exchange has used. */
  newFolder(): string {
    return join(this.work, `${++this.folders}`);
  }

  override spawn(variables: Record<string, string> = {}): ChildServer {
    return super.spawn({ DATA_FOLDER: this.newFolder(), ...variables });
  }

  override async end(): Promise<void> {
    await super.end();
    await this.cluster.stop();
  }
}
