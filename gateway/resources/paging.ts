/** Pages of lists. A cursor has list, filters and last position, so pages do not shift. */
import { type AsOf, asOfJson } from '../../persistence/history/as-of.js';
import { unitsOfSeen } from '../access/fair-use/charges.js';
import { invalidRequest } from '../commands/errors.js';
import type { Call } from '../http/call.js';

export interface PageRequest {
  limit: number;
  cursor?: string | undefined;
}

/** In list entries. */
export const ROWS_OF_MARKET = 10;

const POSITION = [/^\d{1,16}$/];

interface ListOrder<Entry> {
  /** With the filters, such as "markets?asset=BTC". */
  list: string;
  /** Permanent and unique among the list's entries. */
  positionOf(entry: Entry): number;
  newestFirst: boolean;
}

export interface PageEnd extends AsOf {
  nextCursor: string | null;
}

/** `head` has additional fields, each followed by a comma. */
export function pageText(
  name: string,
  texts: readonly string[],
  { nextCursor, ...at }: PageEnd,
  head = '',
): string {
  const cursor = JSON.stringify(nextCursor);
  return `{${head}"${name}":[${texts.join(',')}],"nextCursor":${cursor},${asOfJson(at)}`;
}

export interface Page<Entry> {
  entries: Entry[];
  /** `null` on the last page. */
  nextCursor: string | null;
}

/** `entries` are in the list's order. Refuses an invalid cursor and returns `null`. */
export function pageOf<Entry>(
  call: Call<unknown, PageRequest>,
  entries: Entry[],
  order: ListOrder<Entry>,
): Page<Entry> | null {
  const { limit } = call.query;
  call.owe(unitsOfSeen(entries.length));
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

export function answerPageOf<Entry>(
  call: Call<unknown, PageRequest>,
  entries: Entry[],
  { name, text, ...order }: ListOrder<Entry> & { name: string; text: (entry: Entry) => string },
): void {
  const page = pageOf(call, entries, order);
  if (page === null) return;
  const end = { nextCursor: page.nextCursor, ...call.asOf };
  call.answerWhenDurable(200, pageText(name, page.entries.map(text), end));
}

/** Several numbers if the list's order needs them. */
export function cursorOf(list: string, ...position: readonly number[]): string {
  return Buffer.from([list, ...position].join('\n')).toString('base64url');
}

/** `null`: the first page. `undefined`: the request was refused for an invalid cursor. */
export function startOf(call: Call<unknown, PageRequest>, list: string): number | null | undefined {
  const position = startPosition(call, list, POSITION);
  return position ? position[0]! : position;
}

/** Each number's digits match one of `patterns`. */
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

/** `null` if it is not a cursor of this list. */
function numbersIn(list: string, cursor: string, patterns: readonly RegExp[]): number[] | null {
  const [name, ...texts] = Buffer.from(cursor, 'base64url').toString('utf8').split('\n');
  if (name !== list || texts.length !== patterns.length) return null;
  if (!texts.every((text, index) => patterns[index]!.test(text))) return null;
  const position = texts.map(Number);
  // The decoder ignores invalid characters, so the cursor must also encode back to itself.
  return cursorOf(list, ...position) === cursor ? position : null;
}
