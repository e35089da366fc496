/**
 * Pages of lists. A cursor is opaque to clients. It contains its list, filters included, and the
 * position of the last entry returned, so new entries do not shift a page.
 */
import { invalidRequest } from '../http/errors.js';
import type { RequestContext } from '../http/request-context.js';

export interface PageRequest {
  limit: number;
  cursor?: string | undefined;
}

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
  context: RequestContext<unknown, PageRequest>,
  entries: Entry[],
  order: ListOrder<Entry>,
): Page<Entry> | null {
  const { limit } = context.query;
  const after = startOf(context, order.list);
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

/** Where the page starts; null: at the first entry; undefined: refused, the cursor is invalid. */
export function startOf(
  context: RequestContext<unknown, PageRequest>,
  list: string,
): number | null | undefined {
  const { cursor } = context.query;
  if (cursor === undefined) return null;
  return cursorPosition(list, cursor) ?? refuseCursor(context);
}

export function refuseCursor(context: RequestContext<unknown, unknown>): undefined {
  context.refuse(invalidRequest({ cursor: 'is not a cursor of this list' }));
}

/** The position in a cursor; null: it is not a cursor of this list. */
function cursorPosition(list: string, cursor: string): number | null {
  const [name, position, ...rest] = Buffer.from(cursor, 'base64url').toString('utf8').split('\n');
  if (name !== list || position === undefined || rest.length > 0) return null;
  if (!/^\d{1,16}$/.test(position)) return null;
  // The decoder ignores invalid characters, so the cursor must also encode back to itself.
  return cursorOf(list, Number(position)) === cursor ? Number(position) : null;
}
