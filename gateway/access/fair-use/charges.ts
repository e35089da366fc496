/**
 * The cost of all input that makes the trading thread work, in units of a rate, each at most {@link
 * UNIT_US}. CONFIGURATION.md names, for every kind of input, the cost, the payer, the maximum, and
 * what happens beyond it.
 *
 * Always holds: a request costs the same whether it is refused or not, over every transport, except
 * that one refused for overload or for a rate pays nothing. Costs that are visible before the work
 * are charged before it; the rest is bounded, and owed afterwards.
 */

import type { Quota } from './fair-use.js';

export interface Wanted {
  quota: Extract<Quota, 'orders' | 'cancels'>;
  units: number;
}

/** Microseconds of the trading thread. */
export const UNIT_US = 20;

/** Bytes and pieces per unit. An operation has fewer bytes. */
const BODY_BYTES = 320;
const BODY_PIECES = 4;
/** Marks per unit. Each may begin an object with unique fields, the most expensive to parse. */
const BODY_MARKS = 20;
/** Shorter texts cost no more for their marks than for their bytes. */
const MARKED_BYTES = 2 * BODY_MARKS;
const TEXT_BYTES = 1_024;
/** For bytes that are copied or written without a string. */
const COPIED_BYTES = 16 * 1_024;
const SEEN_ROWS = 200;
export const FILE_BYTES = 64 * 1_024;

/** Reads per opened stream. */
export const HANDSHAKE_UNITS = 5;
export const METRICS_UNITS = 100;
const REFUSED_UNITS_PER_OPERATION = 20;

/** Receiving a body or a message. */
export function unitsOfBody(bytes: number, pieces = 1): number {
  return Math.max(1, Math.ceil(bytes / BODY_BYTES), Math.ceil(pieces / BODY_PIECES));
}

const MARKS = new Uint8Array(256);
for (const mark of Buffer.from(':[{')) MARKS[mark] = 1;

/** Receiving and parsing: counts the colons and opening brackets before the parse. */
export function unitsOfText(bytes: Uint8Array): number {
  const units = unitsOfBody(bytes.byteLength);
  if (bytes.byteLength < MARKED_BYTES) return units;
  let marks = 0;
  for (let at = 0; at < bytes.length; at++) marks += MARKS[bytes[at]!]!;
  return Math.max(units, Math.ceil(marks / BODY_MARKS));
}

/** An answer, besides its request; or a snapshot, besides its message. */
export function unitsOfAnswer(answer: string | Uint8Array): number {
  return Math.floor(answer.length / (typeof answer === 'string' ? TEXT_BYTES : COPIED_BYTES));
}

/** Resting orders that a command or a quote visits before it trades, or entries of a list. */
export function unitsOfSeen(rows: number): number {
  return Math.floor(rows / SEEN_ROWS);
}

/** Operations of a stream's connection that a refusal costs; see StreamLimits. */
export function operationsOfRefusal(units: number): number {
  return Math.ceil(units / REFUSED_UNITS_PER_OPERATION);
}
