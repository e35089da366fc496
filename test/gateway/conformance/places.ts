/** Where clients connect: to the exchange itself, to an edge's thread, or to a replica. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../../gateway/observe/log.js';
import type { Config } from '../../../gateway/start/config.js';
import { startReplica } from '../../../gateway/start/replica.js';
import { PostgresCluster } from '../../support/cluster/postgres.js';
import { ApiClient, TestServer } from '../../support/server.js';

export interface Place {
  /** Executes what clients send. */
  readonly leader: TestServer;
  readonly api: ApiClient;
  readonly port: number;
  stop(): Promise<void>;
}

export type Open = (overrides: Partial<Config>) => Promise<Place>;

const openWith =
  (edgeThreads: number): Open =>
  async (overrides) => {
    const leader = await TestServer.withMarket({ edgeThreads, ...overrides });
    const { api, exchange } = leader;
    return { leader, api, port: exchange.port, stop: () => leader.stop() };
  };

async function openReplica(overrides: Partial<Config>): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'exchange-replica-'));
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, `${text}\n`, { mode: 0o600 });
    return path;
  };
  const replicasKeyFile = file('key', randomBytes(32).toString('hex'));
  const sessionSecretFile = file('secret', randomBytes(32).toString('base64url'));
  const cluster = await PostgresCluster.start(1);
  const { url } = cluster;
  const journal = { url, passwordFile: '', authorityFile: '', isUnreplicated: true };
  const shared = { ...overrides, edgeThreads: 0, replicasKeyFile, sessionSecretFile, journal };
  const replicas = { host: '127.0.0.1', port: 0 };
  const leader = await TestServer.withMarket({ ...shared, replicas });
  const log = createLog('fatal');
  const onFatal = (error: Error) => {
    throw error;
  };
  const config = { ...leader.config, ...shared, replicas: null, dataFolder: join(folder, 'data') };
  const replica = await startReplica({ config, log, onFatal });
  const api = new ApiClient(`http://127.0.0.1:${replica.port}`);
  const stop = async () => {
    await api.close();
    await replica.stop();
    await leader.stop();
    await cluster.stop();
    rmSync(folder, { recursive: true });
  };
  return { leader, api, port: replica.port, stop };
}

export const PLACES = {
  exchange: openWith(0),
  'edge thread': openWith(1),
  replica: openReplica,
};
