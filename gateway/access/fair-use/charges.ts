/**
 * The cost of every input that makes the trading thread work, in rate-limit units of at most
 * {@link UNIT_US}. For each kind of input, the table states the cost, the payer, the maximum, and
 * the result of exceeding it. A test compares the table with the one in CONFIGURATION.md.
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

/** Trading-thread time per unit, in microseconds. */
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

/** Reads charged per opened stream. */
export const HANDSHAKE_UNITS = 5;
export const METRICS_UNITS = 100;
const REFUSED_UNITS_PER_OPERATION = 20;

/** Units for receiving a body or message. */
export function unitsOfBody(bytes: number, pieces = 1): number {
  return Math.max(1, Math.ceil(bytes / BODY_BYTES), Math.ceil(pieces / BODY_PIECES));
}

const MARKS = new Uint8Array(256);
for (const mark of Buffer.from(':[{')) MARKS[mark] = 1;

/** Units for receiving and parsing a text, found by counting its colons and opening brackets. */
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

interface Charge {
  kind: string;
  input: string;
  cost: string;
  payer: string;
  /** Highest cost of one input: trading-thread microseconds, and bytes. */
  most: string;
  beyond: string;
}

const MOST_OF_BODY = 'the body: 64 KiB, 3,277 units';
const REFUSED = '429, and nothing is executed';

/** Charges by kind of input. A route's kind is its quota. */
export const CHARGES: readonly Charge[] = [
  {
    kind: 'orders',
    input: 'a change over HTTP, or an `order` or `batch` on the stream',
    cost: 'its operations or its body units, whichever is more; and 1 per 200 resting orders examined before the first trade',
    payer: 'user and address; without a valid session the address',
    most: `100 operations, 25 units for orders examined; ${MOST_OF_BODY}`,
    beyond: REFUSED,
  },
  {
    kind: 'cancels',
    input: 'a cancel, or a batch that only cancels',
    cost: 'its operations or its body units, whichever is more',
    payer: 'as a change, from the rate of cancels',
    most: `100 operations; ${MOST_OF_BODY}`,
    beyond: REFUSED,
  },
  {
    kind: 'reads',
    input: 'a read, or a sign-out',
    cost: '1; and 1 per KiB of the answer, or per 16 KiB if the bytes are only copied',
    payer: 'user and address; without a session the address',
    most: 'about 100 units and 100 KiB; 32 parameters',
    beyond: REFUSED,
  },
  {
    kind: 'reads',
    input: 'a page of a list',
    cost: 'as a read; and 1 per 200 entries of the whole list',
    payer: 'as a read',
    most: 'a page has 200 entries',
    beyond: REFUSED,
  },
  {
    kind: 'reads',
    input: 'a page of past markets',
    cost: 'as a read, but its `limit` in place of 1',
    payer: 'as a read',
    most: 'as a read',
    beyond: REFUSED,
  },
  {
    kind: 'reads',
    input: 'a read that examines resting orders, such as a quote',
    cost: 'as a read; and 1 per 200 orders examined',
    payer: 'as a read',
    most: '5,000 orders examined',
    beyond: REFUSED,
  },
  {
    kind: 'reads',
    input: 'a query of the history that explains a refused command, or answers a repeated key',
    cost: 'as a read',
    payer: 'as a read',
    most: 'as a read',
    beyond: REFUSED,
  },
  {
    kind: 'signIns',
    input: 'a password; a new token or sub-account',
    cost: '1 or its body units, whichever is more',
    payer: 'name or user, and address',
    most: MOST_OF_BODY,
    beyond: REFUSED,
  },
  {
    kind: 'free',
    input: "`/health`, `/ready`, `/metrics`; operators' routes; answers 429 and 503",
    cost: "1, or 100 for `/metrics`, from the address's separate 1,000 a second with bursts of 2,000",
    payer: 'address',
    most: '100 units, 100 KiB',
    beyond:
      'the answer closes the connection, and so does `rate_limited` on the stream; `/metrics` returns 429',
  },
  {
    kind: 'unserved',
    input:
      'a request that no route serves: 404, 405, ambiguous headers (400), a preflight request, GET of the stream without WebSocket',
    cost: '1 read',
    payer: 'address',
    most: '20 µs, 1 KiB',
    beyond: REFUSED,
  },
  {
    kind: 'file',
    input: 'a file of the site or documentation, or a day file',
    cost: '1 read per 64 KiB, at most 200; 1 if the file has not changed',
    payer: 'address',
    most: '200 units; the file',
    beyond: REFUSED,
  },
  {
    kind: 'handshake',
    input: 'a stream handshake',
    cost: '5 reads',
    payer: 'address',
    most: '100 µs',
    beyond: REFUSED,
  },
  {
    kind: 'message',
    input: '`auth`, `subscribe`, `unsubscribe`, `resume`, `ping`, and invalid messages',
    cost: '1 read per channel or its body units, whichever is more; and 1 per KiB of a snapshot; and 1 per 100 messages that a `resume` replays',
    payer: 'user and address',
    most: '4 KiB; 50 snapshots',
    beyond: 'the error `rate_limited`',
  },
  {
    kind: 'message',
    input: 'the same messages, in addition',
    cost: "1 of the connection's operations per channel",
    payer: 'the connection',
    most: '50 operations',
    beyond: 'the connection is closed',
  },
  {
    kind: 'control',
    input: 'a WebSocket ping or pong',
    cost: "1 of the connection's operations",
    payer: 'the connection',
    most: '20 µs, 125 bytes',
    beyond: 'the connection is closed',
  },
  {
    kind: 'refusal',
    input: 'a refused `order` or `batch` on the stream',
    cost: "as if it were executed; and 1 of the connection's operations per 20 units, rounded up",
    payer: 'as a change; the connection',
    most: 'as a change',
    beyond: 'the connection is closed',
  },
];
