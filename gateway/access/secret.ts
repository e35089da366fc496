/**
 * The secrets of session tokens, one a line in a file of the data folder that only its owner can
 * read. The first secret signs, and all are valid, so that a new secret can take over without
 * ending a session. A start without a file makes a secret of 32 random bytes. It is on disk before
 * it is used, so a power failure cannot invalidate tokens.
 *
 * Processes that share a journal need the same secrets, or each refuses the others' tokens. The
 * secrets are not in the journal, because anyone who can read the journal could then sign tokens.
 * The operator copies the file, and may choose another place for it.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { fsyncSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { withFile } from '../../persistence/storage/files.js';
import { SECRET_BYTES, SECRET_FILE, secretsIn } from '../../persistence/storage/session-secret.js';

/** The secrets in an existing file. Throws if it is missing, invalid or accessible to others. */
export function sharedSecrets(path: string): Buffer[] {
  const secrets = secretsIn(path);
  if (secrets !== null) return secrets;
  throw new Error(
    `there is no ${path}. Copy the file ${SECRET_FILE} from the leader's data folder, so that ` +
      'sessions work here, too',
  );
}

/** Equal for processes with the same secret; does not reveal it. Differs in each epoch. */
export function fingerprint(secret: Buffer, epoch: number): string {
  return createHmac('sha256', secret).update(`session secret, epoch ${epoch}`).digest('hex');
}

/** Reads the secrets, or makes one. Throws if the file is invalid or accessible to others. */
export function sessionSecrets(dataFolder: string): Buffer[] {
  const found = readSecrets(dataFolder);
  if (found !== null) return found;
  writeSecret(dataFolder, join(dataFolder, SECRET_FILE));
  return readSecrets(dataFolder)!;
}

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
