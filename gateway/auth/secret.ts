/**
 * The secret that signs session tokens: 32 random bytes in a file of the data folder, made at the first start, readable
 * by its owner only. It is on disk before it is used, so a power cut cannot end the tokens signed with it.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

export const SECRET_FILE = 'session-secret';
const SECRET_BYTES = 32;

/** Reads the secret, or makes it. Throws if the file is there but is not one, or if others may read it. */
export function sessionSecret(dataFolder: string): Buffer {
  const path = join(dataFolder, SECRET_FILE);
  if (!existsSync(path)) writeSecret(dataFolder, path);
  return readSecret(path);
}

/** Judges a secret that is there, and makes none. Throws as {@link sessionSecret} does. */
export function checkSecret(dataFolder: string): void {
  const path = join(dataFolder, SECRET_FILE);
  if (existsSync(path)) readSecret(path);
}

function readSecret(path: string): Buffer {
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new Error(`${path} can be read or written by others. Run: chmod 600 ${path}`);
  }
  const secret = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64url');
  if (secret.length !== SECRET_BYTES) {
    throw new Error(`${path} does not hold a session secret. Restore it, or delete it to end all sessions.`);
  }
  return secret;
}

/** Written beside and renamed, so that no start ever finds half a secret. */
function writeSecret(dataFolder: string, path: string): void {
  const temporary = `${path}.new`;
  const file = openSync(temporary, 'w', 0o600);
  writeSync(file, `${randomBytes(SECRET_BYTES).toString('base64url')}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(temporary, path);
  const folder = openSync(dataFolder, 'r');
  fsyncSync(folder);
  closeSync(folder);
}
