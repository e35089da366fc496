/**
 * CORS: lets pages of SITE_ORIGINS read answers and send tokens in `x-user-token`.
 *
 * Invariant: only those origins are named, and Access-Control-Allow-Credentials is never sent,
 * so no browser lets a page of another origin use the cookie.
 */
import type { HttpResponse } from 'uWebSockets.js';

const REQUEST_HEADERS =
  'Client-Sequence, Content-Type, Idempotency-Key, If-None-Match, Min-Sequence, X-Request-Id, X-User-Token';
/** Headers that a page can read in addition to the standard ones. */
const EXPOSED =
  'Allow, Behind-Ms, ETag, Idempotency-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id';
const PREFLIGHT_SECONDS = '86400';

/** Call corked. */
export function writeCrossOrigin(
  response: HttpResponse,
  origin: string,
  siteOrigins: readonly string[],
): void {
  if (siteOrigins.length === 0) return;
  response.writeHeader('Vary', 'Origin');
  if (origin === '' || !siteOrigins.includes(origin)) return;
  response.writeHeader('Access-Control-Allow-Origin', origin);
  response.writeHeader('Access-Control-Expose-Headers', EXPOSED);
}

interface Asked {
  method: string;
  origin: string;
  accessControlRequestMethod: string;
}

export function isPreflight(asked: Asked, siteOrigins: readonly string[]): boolean {
  return (
    asked.method === 'options' &&
    asked.accessControlRequestMethod !== '' &&
    siteOrigins.includes(asked.origin)
  );
}

export function preflightHeaders(methods: string): [string, string][] {
  return [
    ['Access-Control-Allow-Methods', methods],
    ['Access-Control-Allow-Headers', REQUEST_HEADERS],
    ['Access-Control-Max-Age', PREFLIGHT_SECONDS],
  ];
}
