/**
 * The keys of partners, operators and gateways. The configuration contains only their SHA-256
 * digests. The digest of a received key is compared with all of them in constant time, so that the
 * response time reveals nothing.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface AccessKey {
  /** The name of the partner or operator. */
  holder: string;
  /** 32 bytes. */
  sha256: Buffer;
}

/** ASCII only: uWebSockets.js does not pass on other bytes unchanged. */
const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** Whose key is in the header Authorization; null: not a valid key. */
export function holderOf(keys: readonly AccessKey[], authorization: string): string | null {
  const key = BEARER.exec(authorization)?.[1];
  if (key === undefined) return null;
  const digest = createHash('sha256').update(key).digest();
  let holder: string | null = null;
  for (const candidate of keys) {
    if (timingSafeEqual(candidate.sha256, digest)) holder = candidate.holder;
  }
  return holder;
}
