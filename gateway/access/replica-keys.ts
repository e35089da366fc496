/**
 * The file of keys by which replicas identify themselves to the leader, readable only by its owner,
 * one per line. A replica sends the first key; the leader accepts all, so a new key can be tried
 * before the old one is removed.
 */
import { readPrivateText } from '../../persistence/storage/files.js';
import { type AccessKey, digestOf } from './access-keys.js';

/** Output of `openssl rand -hex 32`, or longer. */
const KEY = /^[\x21-\x7e]{32,512}$/;

/** @throws Error if the file is unreadable, accessible to others, or has no valid key */
export function readReplicaKeys(path: string): [string, ...string[]] {
  const [first = '', ...others] = readPrivateText(path).split('\n');
  if ([first, ...others].every((key) => KEY.test(key))) return [first, ...others];
  throw new Error(
    `${path} does not contain a key a line: 32 to 512 characters without spaces each, as made by ` +
      '"openssl rand -hex 32"',
  );
}

export function replicaKeysOf(keys: readonly string[]): AccessKey[] {
  return keys.map((key) => ({ holder: 'gateway', sha256: digestOf(key) }));
}
