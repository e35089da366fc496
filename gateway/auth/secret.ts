/**
 * The secret that signs session tokens: 32 random bytes in a file of the data folder, readable by
 * its owner only. It is on disk before it is used, so a power failure cannot invalidate tokens.
 *
 * Processes that share a journal must have the same secret, or a token of one is refused by the
 * others. It is not in the journal, because anyone who can read the journal could then sign tokens.
 * The operator copies the file, and may name another place for it.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, fsyncSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { readPrivateText, withFile } from '../../persistence/storage/files.js';

export const SECRET_FILE = 'session-secret';
const SECRET_BYTES = 32;

/** The secret in a file that must be there. Throws if it is missing, invalid or accessible. */
export function sharedSecret(path: string): Buffer {
  const secret = secretIn(path);
  if (secret !== null) return secret;
  throw new Error(
    `there is no ${path}. Copy the file ${SECRET_FILE} from the leader's data folder, so that ` +
      'sessions work here, too',
  );
}

/** Reads or creates the secret. Throws if the file is invalid or accessible to others. */
export function sessionSecret(dataFolder: string): Buffer {
  const found = readSecret(dataFolder);
  if (found !== null) return found;
  writeSecret(dataFolder, join(dataFolder, SECRET_FILE));
  return readSecret(dataFolder)!;
}

/** null: there is none yet. Throws as {@link sessionSecret} does. */
export function readSecret(dataFolder: string): Buffer | null {
  return secretIn(join(dataFolder, SECRET_FILE));
}

function secretIn(path: string): Buffer | null {
  if (!existsSync(path)) return null;
  const text = readPrivateText(path);
  const secret = Buffer.from(text, 'base64url');
  // The decoder ignores invalid characters, so the secret must also encode back to the same text.
  if (secret.length !== SECRET_BYTES || secret.toString('base64url') !== text) {
    throw new Error(
      `${path} does not contain a session secret. Restore it, or delete it to end all sessions.`,
    );
  }
  return secret;
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
