/**
 * Lists as CSV (RFC 4180), for clients that prefer CSV: a header line, then one line per entry in
 * the page's order. The response header Link names the next page.
 */
import type { z } from 'zod';
import { answerCoded } from '../http/answers/coded-answer.js';
import { JSON_TYPE } from '../http/answers/response-head.js';
import type { Call } from '../http/call.js';

const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
/** Media types of a list: the default, and the one that the header Accept can request. */
export const LIST_TYPES = [JSON_TYPE, CSV_TYPE];

/** A column's name and the entry's field in it, or a function of the field's value. */
type Column =
  | readonly [name: string, field: string, inner?: string]
  | readonly [name: string, field: string, written: (value: unknown) => string];
export type Columns = readonly Column[];

/** The currency column: all money is in US dollars. */
export const CURRENCY: Column = ['currency', '', () => 'USD'];

/** One column per field, plus a date next to each time, plus the currency. */
export function columnsOf(entry: z.ZodObject): Columns {
  const columns = Object.keys(entry.shape).flatMap((name): Columns => {
    return name.endsWith('tMs') ? timeColumns(name) : [[name, name]];
  });
  return [...columns, CURRENCY];
}

/** Two columns: milliseconds, and UTC to the second in the form that spreadsheets read. */
export function timeColumns(name: string): Columns {
  return [
    [name, name],
    [name.replace(/Ms$/, 'Utc'), name, dateText],
  ];
}

function dateText(atMs: unknown): string {
  return atMs === null ? '' : new Date(Number(atMs)).toISOString().slice(0, 19).replace('T', ' ');
}

export interface Page {
  /** The list's path below `/api`. */
  path: string;
  columns: Columns;
  /** The entries as in the JSON. */
  entries: readonly object[];
  nextCursor: string | null;
  sequence: number;
}

/** Answers with a page as JSON or CSV, as the client prefers. `json`: the whole JSON answer. */
export function answerList(call: Call, page: Page, json: () => string): void {
  const { sequence, nextCursor } = page;
  call.addHeader('Vary', 'Accept');
  if (!prefersCsv(call.request.accept)) {
    answerCoded(call, sequence, json());
    return;
  }
  call.produce(CSV_TYPE);
  if (nextCursor !== null) {
    const query = new URLSearchParams(call.request.rawQuery);
    query.set('cursor', nextCursor);
    call.addHeader('Link', `</api${page.path}?${query}>; rel="next"`);
  }
  answerCoded(call, sequence, csvText(page));
}

/** Quotes no values: none contains a comma, a quote or a line break. */
export function csvText({ columns, entries }: Pick<Page, 'columns' | 'entries'>): string {
  const head = columns.map(([name]) => name);
  return [head, ...entries.map((entry) => valuesOf(columns, entry))]
    .map((values) => `${values.join(',')}\r\n`)
    .join('');
}

function valuesOf(columns: Columns, entry: object): string[] {
  return columns.map(([, field, inner]) => {
    const outer = (entry as Record<string, unknown>)[field];
    if (typeof inner === 'function') return inner(outer);
    if (inner === undefined || outer === null) return valueText(outer);
    return valueText((outer as Record<string, unknown>)[inner]);
  });
}

/** Numbers have the same digits as in JSON; null is empty. */
function valueText(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Whether the header Accept prefers CSV to JSON. The default is JSON. */
function prefersCsv(accept: string): boolean {
  if (accept === '') return false;
  let [csv, json] = [0, 0];
  for (const part of accept.toLowerCase().split(',')) {
    const [type, ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    if (type === 'text/csv') csv = Math.max(csv, quality);
    else if (type === 'application/json') json = Math.max(json, quality);
  }
  return csv > json;
}
