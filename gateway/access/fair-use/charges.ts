/**
 * The cost of every input that makes the trading thread work, in rate-limit units of at most
 * {@link UNIT_US}. CONFIGURATION.md (Costs of inputs) lists each input's cost, payer and maximum,
 * and the result of exceeding it.
 *
 * Invariant: a request costs the same over every transport, admitted or refused, except that one
 * refused for overload or by a rate limit pays nothing. Costs known before the work are charged
 * before it. All other costs are bounded, and owed afterwards.
 */

import type { Quota } from './fair-use.js';

export interface Cost {
  quota: Extract<Quota, 'orders' | 'cancels'>;
  units: number;
}

export const UNIT_US = 20;

/** Bytes and pieces per unit. One operation has fewer bytes. */
const BODY_BYTES = 320;
const BODY_PIECES = 4;
/** Marks per unit. Each mark may begin an object, the most expensive input to parse. */
const BODY_MARKS = 20;
/** In shorter texts, marks never cost more than bytes. */
const MARKED_BYTES = 2 * BODY_MARKS;
const TEXT_BYTES = 1_024;
/** Bytes per unit when bytes are copied or written without a string. */
const COPIED_BYTES = 16 * 1_024;
const SEEN_ROWS = 200;
export const FILE_BYTES = 64 * 1_024;

export const HANDSHAKE_UNITS = 5;
export const METRICS_UNITS = 100;
const REFUSED_UNITS_PER_OPERATION = 20;

export function unitsOfBody(bytes: number, pieces = 1): number {
  return Math.max(1, Math.ceil(bytes / BODY_BYTES), Math.ceil(pieces / BODY_PIECES));
}

const MARKS = new Uint8Array(256);
for (const mark of Buffer.from(':[{')) MARKS[mark] = 1;

export function unitsOfText(bytes: Uint8Array): number {
  const units = unitsOfBody(bytes.byteLength);
  if (bytes.byteLength < MARKED_BYTES) return units;
  let marks = 0;
  for (let at = 0; at < bytes.length; at++) marks += MARKS[bytes[at]!]!;
  return Math.max(units, Math.ceil(marks / BODY_MARKS));
}

/** Units for an answer in addition to its request, or for a snapshot in addition to its message. */
export function unitsOfAnswer(answer: string | Uint8Array): number {
  return Math.floor(answer.length / (typeof answer === 'string' ? TEXT_BYTES : COPIED_BYTES));
}

/** Units for `rows` resting orders examined before trading, or list entries read. */
export function unitsOfSeen(rows: number): number {
  return Math.floor(rows / SEEN_ROWS);
}

/** Stream operations charged for a refusal; see StreamLimits. */
export function operationsOfRefusal(units: number): number {
  return Math.ceil(units / REFUSED_UNITS_PER_OPERATION);
}
