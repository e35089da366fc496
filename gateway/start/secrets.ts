/**
 * The secrets that exchanges and gateways share, from files that the operator has made. They are
 * read before anything else: a standby that could not read them would only end when it has to lead.
 */
import type { AccessKey } from '../auth/access-keys.js';
import { sharedSecret } from '../auth/secret.js';
import type { Config } from '../config.js';
import { digestOf, readGatewayKey } from '../forwarding/key.js';
import { withVariable } from './config-error.js';

interface SharedSecrets {
  /** Of sessions; null: it is in the data folder. */
  session: Buffer | null;
  /** With which gateways identify themselves; null: there are none. */
  gatewayKey: AccessKey | null;
}

/** @throws ConfigError that names the variable */
export async function readSharedSecrets(
  config: Pick<Config, 'sessionSecretFile' | 'gateways' | 'gatewaysKeyFile'>,
): Promise<SharedSecrets> {
  const { sessionSecretFile, gateways, gatewaysKeyFile } = config;
  const session = () => (sessionSecretFile === '' ? null : sharedSecret(sessionSecretFile));
  const gatewayKey = () => (gateways === null ? null : digestOf(readGatewayKey(gatewaysKeyFile)));
  return {
    session: await withVariable('SESSION_SECRET_FILE', session, [Error]),
    gatewayKey: await withVariable('GATEWAYS_KEY_FILE', gatewayKey, [Error]),
  };
}
