/**
 * One-time codes with which users who have forgotten their password set a new one. An operator
 * creates a code and gives it to the user.
 *
 * Invariant: a code appears only in the answer to the operator. The journal contains a credential
 * that no password matches: `code$<end, in milliseconds since the epoch>$<SHA-256 of the code,
 * base64url>`. A code has 100 random bits, so the hash needs neither salt nor cost. A code works
 * once, because the new password's credential replaces it.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export const CODE_LASTS_MS = 60 * 60_000;
/** Crockford's base 32, in which no two letters look alike. */
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const GROUPS = 4;
const GROUP_LETTERS = 5;
export const CODE_LENGTH_MAX = 64;

export function newCode(): string {
  const letters = Array.from(randomBytes(GROUPS * GROUP_LETTERS), (byte) => LETTERS[byte % 32]);
  return Array.from({ length: GROUPS }, (_, i) =>
    letters.slice(i * GROUP_LETTERS, (i + 1) * GROUP_LETTERS).join(''),
  ).join('-');
}

export function credentialOf(code: string, endsAtMs: number): string {
  return `code$${endsAtMs}$${hashOf(code).toString('base64url')}`;
}

export function isCode(credential: string): boolean {
  return credential.startsWith('code$');
}

export function fitsCode(credential: string, code: string, nowMs: number): boolean {
  if (!isCode(credential)) return false;
  const [, endsAtMs, hash] = credential.split('$');
  const isRight = timingSafeEqual(Buffer.from(hash!, 'base64url'), hashOf(code));
  return isRight && nowMs < Number(endsAtMs);
}

/** Ignores case and separators. */
function hashOf(code: string): Buffer {
  const letters = code.toUpperCase().replaceAll(/[^0-9A-Z]/g, '');
  return createHash('sha256').update(letters).digest();
}
