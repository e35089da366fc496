/**
 * The secrets of session tokens, one a line in a file of the data folder, readable by its owner
 * only: the first signs, and what any of them has signed is valid, so that a new one can take over
 * without ending a session. A start makes one of 32 random bytes. It is on disk before it is used,
 * so a power failure cannot invalidate tokens.
 *
 * Processes that share a journal must have the same secrets, or a token of one is refused by the
 * others. It is not in the journal, because anyone who can read the journal could then sign tokens.
 * The operator copies the file, and may name another place for it.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { fsyncSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { withFile } from '../../persistence/storage/files.js';
import { SECRET_BYTES, SECRET_FILE, secretsIn } from '../../persistence/storage/session-secret.js';

/** The secrets in a file that must be there. Throws if it is missing, invalid or accessible. */
export function sharedSecrets(path: string): Buffer[] {
  const secrets = secretsIn(path);
  if (secrets !== null) return secrets;
  throw new Error(
    `there is no ${path}. Copy the file ${SECRET_FILE} from the leader's data folder, so that ` +
      'sessions work here, too',
  );
}

/** Shows whether two have the same secret, and nothing of it. Another one in each epoch. */
export function fingerprint(secret: Buffer, epoch: number): string {
  return createHmac('sha256', secret).update(`session secret, epoch ${epoch}`).digest('hex');
}

/** Reads the secrets or makes one. Throws if the file is invalid or accessible to others. */
export function sessionSecrets(dataFolder: string): Buffer[] {
  const found = readSecrets(dataFolder);
  if (found !== null) return found;
  writeSecret(dataFolder, join(dataFolder, SECRET_FILE));
  return readSecrets(dataFolder)!;
}

/** null: there is none yet. Throws as {@link sessionSecrets} does. */
export function readSecrets(dataFolder: string): Buffer[] | null {
  return secretsIn(join(dataFolder, SECRET_FILE));
}

/** Writes a temporary file and renames it, so that the secret is never incomplete. */
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
