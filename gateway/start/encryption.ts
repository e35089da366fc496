/** Checks certificate and key, and warns about unencrypted addresses that others can reach. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readPrivateText } from '../../persistence/storage/files.js';
import type { TlsFiles } from '../http/acceptor.js';
import { isLoopback } from '../http/listen-addresses.js';
import { machineMs } from '../observe/clock.js';
import type { Log } from '../observe/log.js';
import type { Config } from './config.js';
import { withVariable } from './config-error.js';

/** Warns if the certificate is not valid now. @throws ConfigError that names the variable */
export async function checkCertificate(files: TlsFiles, log: Log): Promise<void> {
  const { certFile, keyFile } = files;
  const certificate = await withVariable('TLS_CERT_FILE', () => certificateIn(certFile), [Error]);
  await withVariable('TLS_KEY_FILE', () => checkKey(keyFile, certificate), [Error]);
  const { validFrom, validTo } = certificate;
  const nowMs = machineMs();
  if (Date.parse(validFrom) > nowMs || Date.parse(validTo) < nowMs)
    log.warn({ validFrom, validTo }, 'THE CERTIFICATE IS NOT VALID NOW: clients will refuse it');
}

/** A token is as valuable as a password, and must not be sent unencrypted. */
export function warnOfOpenAddresses(config: Config, log: Log): void {
  const { tls, trustProxy, host, operationsHost, operationsPort } = config;
  if (tls !== null) return;
  const open: string[] = [];
  if (!isLoopback(host) && !trustProxy) open.push(`HOST=${host}`);
  if (operationsPort !== null && !isLoopback(operationsHost))
    open.push(`OPERATIONS_HOST=${operationsHost}`);
  for (const address of open)
    log.warn(
      `${address} IS NOT ENCRYPTED: other machines of the network can read tokens and keys. Set TLS_CERT_FILE and ` +
        'TLS_KEY_FILE, or put a proxy with HTTPS in front and set TRUST_PROXY=on',
    );
}

function certificateIn(path: string): X509Certificate {
  const text = readFileSync(path);
  try {
    return new X509Certificate(text);
  } catch (error) {
    throw new Error(`${path} does not begin with a certificate in PEM`, { cause: error });
  }
}

function checkKey(path: string, certificate: X509Certificate): void {
  const text = readPrivateText(path);
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch (error) {
    const problem = `${path} does not contain a private key in PEM, without a passphrase`;
    throw new Error(problem, { cause: error });
  }
  if (!certificate.checkPrivateKey(key))
    throw new Error(`${path} does not belong to the certificate in TLS_CERT_FILE`);
}
