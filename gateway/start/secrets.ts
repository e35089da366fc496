/**
 * The secrets that exchanges and gateways share, from files that the operator has made. They are
 * read before anything else: a standby that could not read them would only end when it has to lead.
 */
import { join } from 'node:path';
import { SECRET_FILE } from '../../persistence/storage/session-secret.js';
import type { AccessKey } from '../auth/access-keys.js';
import { sharedSecrets } from '../auth/secret.js';
import type { Config } from '../config.js';
import { gatewayKeysOf, readGatewayKeys } from '../forwarding/key.js';
import { withVariable } from './config-error.js';

interface SharedSecrets {
  /** Of sessions; null: they are in the data folder. */
  session: Buffer[] | null;
  /** With which gateways identify themselves; null: there are none. */
  gatewayKeys: AccessKey[] | null;
}

/** @throws ConfigError that names the variable */
export async function readSharedSecrets(
  config: Pick<Config, 'sessionSecretFile' | 'gateways' | 'gatewaysKeyFile'>,
): Promise<SharedSecrets> {
  const { sessionSecretFile, gateways, gatewaysKeyFile } = config;
  const session = () => (sessionSecretFile === '' ? null : sharedSecrets(sessionSecretFile));
  const keys = () => (gateways === null ? null : gatewayKeysOf(readGatewayKeys(gatewaysKeyFile)));
  return {
    session: await withVariable('SESSION_SECRET_FILE', session, [Error]),
    gatewayKeys: await withVariable('GATEWAYS_KEY_FILE', keys, [Error]),
  };
}

/** Those of sessions, which must be there. @throws ConfigError that names the variable */
export function existingSecrets({
  sessionSecretFile: file,
  dataFolder,
}: Pick<Config, 'sessionSecretFile' | 'dataFolder'>): Promise<Buffer[]> {
  const name = file === '' ? 'DATA_FOLDER' : 'SESSION_SECRET_FILE';
  const path = file === '' ? join(dataFolder, SECRET_FILE) : file;
  return withVariable(name, () => sharedSecrets(path), [Error]);
}
