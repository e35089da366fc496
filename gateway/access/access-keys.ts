/**
 * Keys of partners, operators and replicas. The configuration contains only their SHA-256 digests,
 * which are compared in constant time, so that response times reveal nothing.
 *
 * Invariant: a key that {@link AccessKeys.replace} omits is not valid afterwards.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface AccessKey {
  holder: string;
  sha256: Buffer;
}

/** ASCII only: uWebSockets.js may change other bytes. */
const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

export class AccessKeys {
  constructor(private keys: readonly AccessKey[]) {}

  find(authorization: string): AccessKey | null {
    const key = BEARER.exec(authorization)?.[1];
    return key === undefined ? null : this.same(digestOf(key));
  }

  holderOf(authorization: string): string | null {
    return this.find(authorization)?.holder ?? null;
  }

  has({ sha256 }: AccessKey): boolean {
    return this.same(sha256) !== null;
  }

  replace(keys: readonly AccessKey[]): void {
    this.keys = keys;
  }

  private same(digest: Buffer): AccessKey | null {
    let found: AccessKey | null = null;
    for (const candidate of this.keys) {
      if (timingSafeEqual(candidate.sha256, digest)) found = candidate;
    }
    return found;
  }
}

export function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
