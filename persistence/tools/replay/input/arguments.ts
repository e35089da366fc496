/** Strict parsing of option values. An invalid value is a {@link UsageError}. */
import { MAX_TIME_MS } from '../../../../engine/interface/limits.js';
import { idNumber, isMarketName } from '../../../../engine/interface/notation.js';

/** The request is invalid, or cannot be carried out now; the journal is not at fault. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export type Point = { readonly sequence: number } | { readonly atMs: number };

/** The smallest number read as a time (3 March 1973); smaller numbers are sequences. */
const LEAST_TIME_MS = 100_000_000_000;
const NUMBER = /^\d{1,15}$/;
const ISO_TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** A sequence, milliseconds since the epoch, or an ISO 8601 time (UTC unless it has an offset). */
export function parsePoint(text: string): Point {
  if (NUMBER.test(text)) {
    const number = Number(text);
    if (number < LEAST_TIME_MS) return { sequence: number };
    if (number <= MAX_TIME_MS) return { atMs: number };
  }
  const atMs = isoTime(text);
  if (atMs !== null) return { atMs };
  throw new UsageError(
    `"${text}" is neither a sequence (such as 1042) nor a time (such as 2025-11-21T04:45:00Z, 2025-11-21, or ` +
      '1763700300000 in milliseconds)',
  );
}

function isoTime(text: string): number | null {
  const parts = ISO_TIME.exec(text);
  if (parts === null) return null;
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '0'] = parts;
  const zone = parts[8] ?? 'Z';
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}`;
  const utc = new Date(`${local}Z`);
  // Date turns 30 February into 1 or 2 March.
  const isReal = !Number.isNaN(utc.getTime()) && utc.getUTCDate() === Number(day) && hour !== '24';
  const atMs = Date.parse(`${local}${zone}`);
  return isReal && atMs >= 0 && atMs <= MAX_TIME_MS ? atMs : null;
}

export function parseUser(text: string): number {
  const userId = idNumber('u', text);
  if (userId === 0) throw new UsageError(`"${text}" is not a user id (such as u12)`);
  return userId;
}

/** Returns the name: only an engine that has the asset can resolve it to a number. */
export function parseMarket(text: string): string {
  if (!isMarketName(text))
    throw new UsageError(`"${text}" is not a market id (such as btc-15m-1763700300)`);
  return text;
}

export function unknownUser(userId: number, userCount: number, sequence: number): UsageError {
  const known = userCount === 0 ? 'there are no users yet' : `the users are u1 to u${userCount}`;
  return new UsageError(`there is no user u${userId}: at sequence ${sequence} ${known}`);
}

/** @throws UsageError for a sequence beyond the end. `endSequence`: null if the end is unknown. */
export function checkPoint(point: Point | null, endSequence: number | null): void {
  if (point === null || endSequence === null || 'atMs' in point || point.sequence <= endSequence)
    return;
  throw new UsageError(
    `sequence ${point.sequence} is beyond the end: the journal ends at ${endSequence}`,
  );
}
