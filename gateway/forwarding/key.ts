/**
 * The key with which gateways identify themselves to the leader: one text in a file that only its
 * owner can read, the same on the leader and on every gateway. It is compared by its digest and in
 * constant time, as the operators' keys are.
 */
import { createHash } from 'node:crypto';
import { readPrivateText } from '../../persistence/storage/files.js';
import type { AccessKey } from '../auth/access-keys.js';

/** As `openssl rand -hex 32` makes it, or longer. */
const KEY = /^[\x21-\x7e]{32,512}$/;

/** @throws Error if the file cannot be read, is open to other users, or holds no key */
export function readGatewayKey(path: string): string {
  const key = readPrivateText(path);
  if (KEY.test(key)) return key;
  throw new Error(
    `${path} does not contain a key: 32 to 512 characters without spaces, as made by ` +
      '"openssl rand -hex 32"',
  );
}

/** What the leader compares with. */
export function digestOf(key: string): AccessKey {
  return { holder: 'gateway', sha256: createHash('sha256').update(key).digest() };
}
