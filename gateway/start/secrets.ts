/** Shared secrets, read first: a standby without them fails now, not when it must lead. */
import { join } from 'node:path';
import type { Leader } from '../../persistence/replication/postgres/postgres-journal.js';
import { SECRET_FILE } from '../../persistence/storage/session-secret.js';
import type { AccessKey } from '../access/access-keys.js';
import { readReplicaKeys, replicaKeysOf } from '../access/replica-keys.js';
import { fingerprint, sharedSecrets } from '../access/secret.js';
import type { Log } from '../observe/log.js';
import type { Config } from './config.js';
import { withVariable } from './config-error.js';

/** Session secrets; `null` if they are in the data folder. @throws ConfigError */
export function sharedSessionSecrets({
  sessionSecretFile: file,
}: Pick<Config, 'sessionSecretFile'>): Promise<Buffer[] | null> {
  const read = () => (file === '' ? null : sharedSecrets(file));
  return withVariable('SESSION_SECRET_FILE', read, [Error]);
}

/** `null` if there is no address for replicas. @throws ConfigError that names the variable */
export function keysOfReplicas({
  replicas,
  replicasKeyFile: file,
}: Pick<Config, 'replicas' | 'replicasKeyFile'>): Promise<AccessKey[] | null> {
  const read = () => (replicas === null ? null : replicaKeysOf(readReplicaKeys(file)));
  return withVariable('REPLICAS_KEY_FILE', read, [Error]);
}

/** @throws ConfigError that names the variable, if there are none */
export function existingSecrets({
  sessionSecretFile: file,
  dataFolder,
}: Pick<Config, 'sessionSecretFile' | 'dataFolder'>): Promise<Buffer[]> {
  const name = file === '' ? 'DATA_FOLDER' : 'SESSION_SECRET_FILE';
  const path = file === '' ? join(dataFolder, SECRET_FILE) : file;
  return withVariable(name, () => sharedSecrets(path), [Error]);
}

/** Logs an error if this process, as leader, would refuse tokens that the leader signs. */
export async function compareSecrets(
  { config, log }: { config: Config; log: Log },
  { epoch, secret }: Leader,
): Promise<void> {
  if (secret === '') return;
  const own = await existingSecrets(config).catch(() => []);
  if (own.some((each) => fingerprint(each, epoch) === secret)) return;
  log.error(
    { epoch },
    'AT A TAKEOVER EVERY USER WOULD BE SIGNED OUT: this exchange does not have the session secret ' +
      `of the leader. Copy the leader's file ${SECRET_FILE} here, mode 0600, and restart this exchange`,
  );
}
