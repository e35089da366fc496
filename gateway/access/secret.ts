/**
 * Secrets that sign session tokens, one per line in a file of the data folder that only its owner
 * can read. The first signs and all verify, so a new secret can take over without ending a session.
 * Startup creates a missing file, on disk before its first use, so a power failure cannot
 * invalidate tokens.
 *
 * Processes that share a journal need the same secrets. Secrets are not in the journal, because
 * anyone able to read the journal could then sign tokens. The operator copies the file, and may
 * configure another place for it.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { fsyncSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { withFile } from '../../persistence/storage/files.js';
import { SECRET_BYTES, SECRET_FILE, secretsIn } from '../../persistence/storage/session-secret.js';

/** @throws if the file is missing, invalid or accessible to others */
export function sharedSecrets(path: string): Buffer[] {
  const secrets = secretsIn(path);
  if (secrets !== null) return secrets;
  throw new Error(
    `there is no ${path}. Copy the file ${SECRET_FILE} from the leader's data folder, so that ` +
      'sessions work here, too',
  );
}

/** Equal in processes with the same secret, which it does not reveal. Changes with the epoch. */
export function fingerprint(secret: Buffer, epoch: number): string {
  return createHmac('sha256', secret).update(`session secret, epoch ${epoch}`).digest('hex');
}

/** @throws if the file exists but is invalid or accessible to others */
export function sessionSecrets(dataFolder: string): Buffer[] {
  const found = readSecrets(dataFolder);
  if (found !== null) return found;
  writeSecret(dataFolder, join(dataFolder, SECRET_FILE));
  return readSecrets(dataFolder)!;
}

export function readSecrets(dataFolder: string): Buffer[] | null {
  return secretsIn(join(dataFolder, SECRET_FILE));
}

/** Writes a temporary file and renames it, so that no reader sees an incomplete secret. */
function writeSecret(dataFolder: string, path: string): void {
  const temporary = `${path}.new`;
  const text = `${randomBytes(SECRET_BYTES).toString('base64url')}\n`;
  withFile(temporary, 'w', (file) => {
    if (writeSync(file, text) !== text.length) throw new Error(`${temporary} is incomplete`);
    fsyncSync(file);
  });
  renameSync(temporary, path);
  withFile(dataFolder, 'r', fsyncSync);
}
