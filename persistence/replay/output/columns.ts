/**
 * Tables that are shown both as JSON and as text. Each column is listed once, with its name in
 * JSON, its head in text (null: not shown there), its value and the form of a number.
 */
import { lotsText, ticksText } from '../../../engine/interface/notation.js';
import type { Names } from './command-json.js';
import { dollarsText } from './command-text.js';
import { dollars, type JsonValue, price, shares, timeText } from './json-values.js';
import { tableText } from './output.js';

interface Form {
  json(value: number): JsonValue;
  text(value: number): string;
  isNumber: boolean;
}

export const DOLLARS: Form = { json: dollars, text: dollarsText, isNumber: true };
export const SHARES: Form = { json: shares, text: lotsText, isNumber: true };
export const PRICE: Form = { json: price, text: ticksText, isNumber: true };
export const COUNT: Form = { json: (count) => count, text: String, isNumber: true };
export const TIME: Form = { json: (atMs) => atMs, text: timeText, isNumber: false };

type Value = number | string | boolean | null;
type Column<Row> = readonly [
  name: string | null,
  head: string | null,
  of: (row: Row, names: Names) => Value,
  form?: Form,
];
export type Columns<Row> = readonly Column<Row>[];

/** Shows a value without a form as it is; null is "-" in text. */
export function cellText(value: Value, form: Form | undefined): string {
  if (value === null) return '-';
  return typeof value === 'number' && form !== undefined ? form.text(value) : String(value);
}

function cellJson(value: Value, form: Form | undefined): JsonValue {
  return typeof value === 'number' && form !== undefined ? form.json(value) : value;
}

export function rowObjects<Row>(
  columns: Columns<Row>,
  rows: readonly Row[],
  names: Names,
): JsonValue[] {
  const shown = columns.filter(([name]) => name !== null);
  return rows.map((row) =>
    Object.fromEntries(shown.map(([name, , of, form]) => [name, cellJson(of(row, names), form)])),
  );
}

export function columnsInText<Row>(columns: Columns<Row>): Columns<Row> {
  return columns.filter(([, head]) => head !== null);
}

/** @param first rows of text before the others, such as totals. */
export function rowsText<Row>(
  columns: Columns<Row>,
  options: { title: string; rows: readonly Row[]; names: Names; limit: number; first?: string[][] },
): string {
  const { title, rows, names, limit, first = [] } = options;
  const shown = columnsInText(columns);
  const heads = shown.map(([, head, , form]) => (form?.isNumber ? `>${head}` : head!));
  const cells = rows.map((row) => shown.map(([, , of, form]) => cellText(of(row, names), form)));
  return tableText({ title, heads, rows: [...first, ...cells], limit });
}
