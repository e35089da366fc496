/**
 * Pages of lists. A cursor is opaque to clients. It contains its list, filters included, and the
 * position of the last entry returned, so new entries do not shift a page.
 */

import { unitsOfSeen } from '../access/fair-use/charges.js';
import type { Call } from '../http/call.js';
import { invalidRequest } from '../http/errors.js';

export interface PageRequest {
  limit: number;
  cursor?: string | undefined;
}

/** A market costs as much to look at as so many entries of a list. */
export const ROWS_OF_MARKET = 10;

const POSITION = [/^\d{1,16}$/];

interface ListOrder<Entry> {
  /** The name of the list with its filters, such as "markets?asset=BTC". */
  list: string;
  /** A permanent number, unique among the entries of the list. */
  positionOf(entry: Entry): number;
  /** Whether the highest positions come first. */
  newestFirst: boolean;
}

export interface Page<Entry> {
  entries: Entry[];
  /** The cursor of the next page; null: this is the last. */
  nextCursor: string | null;
}

/** A page of `entries`, which are in the list's order; null: refused, the cursor is invalid. */
export function pageOf<Entry>(
  call: Call<unknown, PageRequest>,
  entries: Entry[],
  order: ListOrder<Entry>,
): Page<Entry> | null {
  const { limit } = call.query;
  call.owes(unitsOfSeen(entries.length));
  const after = startOf(call, order.list);
  if (after === undefined) return null;
  let start = 0;
  if (after !== null) {
    const isAfter = (entry: Entry) =>
      order.newestFirst ? order.positionOf(entry) < after : order.positionOf(entry) > after;
    start = entries.findIndex(isAfter);
    if (start === -1) start = entries.length;
  }
  const page = entries.slice(start, start + limit);
  const last = page.at(-1);
  const isLastPage = last === undefined || start + limit >= entries.length;
  const nextCursor = isLastPage ? null : cursorOf(order.list, order.positionOf(last));
  return { entries: page, nextCursor };
}

/** `position`: a number, or several of a list whose entries one number does not place. */
export function cursorOf(list: string, ...position: readonly number[]): string {
  return Buffer.from([list, ...position].join('\n')).toString('base64url');
}

/** Where the page starts; null: at the first entry; undefined: refused, the cursor is invalid. */
export function startOf(call: Call<unknown, PageRequest>, list: string): number | null | undefined {
  const position = startPosition(call, list, POSITION);
  return position ? position[0]! : position;
}

/** {@link startOf} for a position of several numbers; `patterns`: what their digits match. */
export function startPosition(
  call: Call<unknown, PageRequest>,
  list: string,
  patterns: readonly RegExp[],
): number[] | null | undefined {
  const { cursor } = call.query;
  if (cursor === undefined) return null;
  return numbersIn(list, cursor, patterns) ?? refuseCursor(call);
}

export function refuseCursor(call: Call): undefined {
  call.refuseNow(invalidRequest({ cursor: 'is not a cursor of this list' }));
}

/** The position in a cursor; null: it is not a cursor of this list. */
function numbersIn(list: string, cursor: string, patterns: readonly RegExp[]): number[] | null {
  const [name, ...texts] = Buffer.from(cursor, 'base64url').toString('utf8').split('\n');
  if (name !== list || texts.length !== patterns.length) return null;
  if (!texts.every((text, index) => patterns[index]!.test(text))) return null;
  const position = texts.map(Number);
  // The decoder ignores invalid characters, so the cursor must also encode back to itself.
  return cursorOf(list, ...position) === cursor ? position : null;
}
