/**
 * A report: one object, from which its JSON and its text are made. Each column of a table is listed
 * once, with its name in JSON (null: not there), its head in text (null: not there), its value, and
 * the unit of a number.
 */
import Table from 'cli-table3';
import type { Names } from './fields.js';
import { type JsonValue, jsonText, type Unit } from './units.js';

export interface Report {
  /** The first fields of the JSON. Those of the tables that have a name follow. */
  fields: { readonly [name: string]: JsonValue };
  /** Text before and after the tables. */
  head?: string;
  foot?: string;
  tables?: readonly ReportTable[];
}

type Value = number | string | boolean | null;
export type Columns<Row> = readonly (readonly [
  name: string | null,
  head: string | null,
  of: (row: Row, names: Names) => Value,
  unit?: Unit,
])[];

export interface ReportTable {
  name: string | null;
  json(limit: number): JsonValue;
  text(limit: number): string;
}

interface TableOptions<Row> {
  /** In JSON; null: it is not there. */
  name: string | null;
  title: string;
  columns: Columns<Row>;
  rows: readonly Row[];
  names: Names;
  /** A row of text before the others. */
  totals?: readonly string[] | undefined;
}

export function tableOf<Row>(options: TableOptions<Row>): ReportTable {
  const { name, title, columns, rows, names, totals } = options;
  const inJson = columns.filter(([name]) => name !== null);
  const inText = columns.filter(([, head]) => head !== null);
  return {
    name,
    json: (limit) =>
      someOf(rows, limit).map((row) =>
        Object.fromEntries(
          inJson.map(([name, , of, unit]) => [name, jsonOf(of(row, names), unit)]),
        ),
      ),
    text: (limit) => {
      const cells = rows.map((row) =>
        inText.map(([, , of, unit]) => cellText(of(row, names), unit)),
      );
      const heads = inText.map(([, head, , unit]) => ({ head: head!, unit }));
      return tableText(title, heads, totals === undefined ? cells : [totals, ...cells], limit);
    },
  };
}

/** @param limit the most rows of a table that JSON has, too. The others are short. */
export function reportText(report: Report, json: boolean, limit: number): string {
  const { fields, head = '', foot = '', tables = [] } = report;
  if (!json) {
    const most = (name: string | null) => (name === null ? Number.POSITIVE_INFINITY : limit);
    return [head, ...tables.map((table) => table.text(most(table.name))), foot].join('');
  }
  const named = tables.filter(({ name }) => name !== null);
  const rows = Object.fromEntries(named.map((table) => [table.name!, table.json(limit)]));
  return `${jsonText({ ...fields, ...rows })}\n`;
}

/** A value without a unit as it is; null is "-". */
export function cellText(value: Value, unit: Unit | undefined): string {
  if (value === null) return '-';
  return typeof value === 'number' && unit !== undefined ? unit.text(value) : String(value);
}

function jsonOf(value: Value, unit: Unit | undefined): JsonValue {
  return typeof value === 'number' && unit !== undefined ? unit.json(value) : value;
}

function someOf<Row>(rows: readonly Row[], limit: number): readonly Row[] {
  return rows.slice(0, Math.min(limit, rows.length));
}

/** Numbers are aligned at the decimal point. */
function tableText(
  title: string,
  columns: readonly { head: string; unit: Unit | undefined }[],
  rows: readonly (readonly string[])[],
  limit: number,
): string {
  const shown = someOf(rows, limit);
  const isNumber = columns.map(({ unit }) => unit?.isNumber === true);
  const places = columns.map((_, column) =>
    shown.reduce((most, row) => Math.max(most, placesOf(row[column]!)), 0),
  );
  const table = new Table({
    head: columns.map(({ head }) => head),
    colAligns: isNumber.map((is) => (is ? 'right' : 'left')),
    style: { head: [], border: [], compact: true },
  });
  for (const row of shown) {
    table.push(
      row.map((cell, i) => (isNumber[i] ? cell + ' '.repeat(places[i]! - placesOf(cell)) : cell)),
    );
  }
  const hidden = rows.length - shown.length;
  const more = hidden === 0 ? '' : `(${hidden} more; --limit 0 shows all)\n`;
  return `${title}\n${rows.length === 0 ? '(none)' : table.toString()}\n${more}`;
}

/** The number of characters from the decimal point on. */
function placesOf(cell: string): number {
  const pointAt = cell.indexOf('.');
  return pointAt < 0 ? 0 : cell.length - pointAt;
}
