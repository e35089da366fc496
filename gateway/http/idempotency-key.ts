/**
 * The header Idempotency-Key: a key, or a key in quotes. uWebSockets.js drops bytes beyond ASCII at
 * both ends of a header value, so two keys that differ only in such bytes would look the same;
 * inside quotes it drops nothing, and an invalid key is refused.
 */
export const IDEMPOTENCY_KEY = /^(?:[A-Za-z0-9_:.-]{1,64}|"[A-Za-z0-9_:.-]{1,64}")$/;

/** The key in a valid header. */
export function keyOf(header: string): string {
  return header.startsWith('"') ? header.slice(1, -1) : header;
}
