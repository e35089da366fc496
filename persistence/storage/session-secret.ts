/**
 * The format of the file of session secrets: one a line, 32 bytes in base64url. The gateway signs
 * with them; tools copy the file with the folder.
 */
import { existsSync } from 'node:fs';
import { readPrivateText } from './files.js';
import { TroubleError } from './trouble.js';

export const SECRET_FILE = 'session-secret';
export const SECRET_BYTES = 32;
/** A request with a wrong token costs one signature per secret. */
export const SECRETS_MAX = 4;

/**
 * Reads the secrets in a file; null if there is no such file. Throws if the file is invalid, or
 * readable by other users.
 */
export function secretsIn(path: string): Buffer[] | null {
  if (!existsSync(path)) return null;
  const secrets = parseSecrets(readPrivateText(path));
  if (secrets !== null) return secrets;
  throw new TroubleError({
    problem: `${path} must contain one to ${SECRETS_MAX} session secrets, one to a line`,
    file: path,
    remedy:
      `Nothing was changed. Put a copy of it back: cp -p <the backup>/${SECRET_FILE} ${path}. To ` +
      'end all sessions instead, stop the exchange and delete the file: the next startup creates a new one.',
  });
}

export function parseSecrets(text: string): Buffer[] | null {
  const lines = text.trimEnd().split('\n');
  const secrets = lines.map((line) => Buffer.from(line, 'base64url'));
  // The decoder ignores invalid characters, so a secret must also encode back to the same text.
  const isValid = secrets.every(
    (secret, i) => secret.length === SECRET_BYTES && secret.toString('base64url') === lines[i],
  );
  return isValid && secrets.length <= SECRETS_MAX ? secrets : null;
}
