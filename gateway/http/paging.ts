/**
 * Pages of lists. A cursor is opaque to clients; it holds the list that it belongs to, filters included, and the position
 * of the last entry that was given. Entries are found again by position, not by count, so new ones do not shift a page.
 */

import { invalidRequest } from './errors.js';
import type { RequestContext } from './request-context.js';

export interface PageRequest {
  limit: number;
  cursor?: string | undefined;
}

export interface ListOrder<Entry> {
  /** What the list is, its filters included, such as "markets?asset=BTC". */
  list: string;
  /** A number that an entry keeps for ever; no two entries of the list share one. */
  positionOf(entry: Entry): number;
  /** Whether the highest positions come first. */
  newestFirst: boolean;
}

export interface Page<Entry> {
  entries: Entry[];
  /** The cursor of the next page; null: this is the last. */
  nextCursor: string | null;
}

/** A page of entries that stand in the list's order; null if the cursor is not one of this list, and the client was told. */
export function pageOf<Entry>(
  call: RequestContext<unknown, PageRequest>,
  entries: Entry[],
  order: ListOrder<Entry>,
): Page<Entry> | null {
  const { limit } = call.query;
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

export function cursorOf(list: string, position: number): string {
  return Buffer.from(`${list}\n${position}`).toString('base64url');
}

/** The number that a page starts after, null for the first; undefined: not a cursor of this list, and the client was told. */
export function startOf(call: RequestContext<unknown, PageRequest>, list: string): number | null | undefined {
  const { cursor } = call.query;
  if (cursor === undefined) return null;
  return cursorPosition(list, cursor) ?? refuseCursor(call);
}

export function refuseCursor(call: RequestContext<unknown, unknown>): undefined {
  call.refuse(invalidRequest({ cursor: 'is not a cursor that this list gave' }));
}

/** The position in a cursor; null if it is not one of this list. */
function cursorPosition(list: string, cursor: string): number | null {
  const [name, position, ...rest] = Buffer.from(cursor, 'base64url').toString('utf8').split('\n');
  if (name !== list || position === undefined || rest.length > 0) return null;
  if (!/^\d{1,16}$/.test(position)) return null;
  // Only as it was given: base64url is decoded whatever else stands in it.
  return cursorOf(list, Number(position)) === cursor ? Number(position) : null;
}
