/**
 * Partner keys. Only their SHA-256 digests are configured; a key that is sent is digested and compared with each of them,
 * all of them every time and in constant time, so that an answer's delay tells nothing.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface PartnerKey {
  partner: string;
  /** 32 bytes. */
  sha256: Buffer;
}

/** Bytes beyond ASCII do not come through the server library as they were sent. */
const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** The partner whose key stands in the header Authorization; null if it is nobody's. */
export function partnerOf(keys: readonly PartnerKey[], authorization: string): string | null {
  const key = BEARER.exec(authorization)?.[1];
  if (key === undefined) return null;
  const digest = createHash('sha256').update(key).digest();
  let partner: string | null = null;
  for (const candidate of keys) {
    if (timingSafeEqual(candidate.sha256, digest)) partner = candidate.partner;
  }
  return partner;
}
