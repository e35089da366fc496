/**
 * Objects as text for people. A report has a line for each field, a block for an object and a table
 * for a list of objects. In a stream, an object is a line, with a line below it for each object of
 * its lists. Null and empty values are left out.
 */
import Table from 'cli-table3';
import {
  Decimal,
  isList,
  isObject,
  type JsonObject,
  type JsonValue,
  jsonText,
  timeText,
} from './units.js';

export function reportText(report: JsonObject, limit: number): string {
  return fieldsOf(report)
    .map(([name, value]) => {
      if (isList(value)) return tableText(name, value.filter(isObject), limit);
      if (!isObject(value)) return `${name} ${cellText(name, value)}\n`;
      const lines = fieldsOf(value).map(([of, part]) => `  ${of} ${cellText(of, part)}\n`);
      return `${name}\n${lines.join('')}`;
    })
    .join('');
}

export function lineText(object: JsonObject, indent = ''): string {
  const isBelow = (value: JsonValue) => isList(value) && value.some(isObject);
  const fields = fieldsOf(object);
  const parts = fields
    .filter(([, value]) => !isBelow(value))
    .map(([name, value]) => `${name} ${cellText(name, value)}`);
  const below = fields.flatMap(([, value]) => (isList(value) ? value.filter(isObject) : []));
  return `${indent}${parts.join(', ')}\n${below.map((each) => lineText(each, `${indent}  `)).join('')}`;
}

function fieldsOf(object: JsonObject): [name: string, value: JsonValue][] {
  const isEmpty = (value: JsonValue) =>
    value === null || value === '' || (isList(value) && value.length === 0);
  return Object.entries(object).filter(([, value]) => !isEmpty(value));
}

/**
 * Formats a value for a table cell: times as UTC, plain words unchanged, other text as JSON. JSON
 * escapes control characters in names that users choose.
 */
function cellText(name: string, value: JsonValue): string {
  if (value === null) return '-';
  if (typeof value === 'number' && /(^at|At|Until|From)Ms$/.test(name)) return timeText(value);
  if (typeof value === 'string') return /^[\w.:/+-]+$/.test(value) ? value : JSON.stringify(value);
  if (isList(value)) return value.map((each) => cellText(name, each)).join(' ');
  return isObject(value) ? `(${lineText(value).trimEnd()})` : jsonText(value);
}

function tableText(name: string, rows: readonly JsonObject[], limit: number): string {
  const shown = rows.slice(0, Math.min(limit, rows.length));
  const heads = Object.keys(rows[0]!).filter((head) => shown.some((row) => row[head] !== null));
  const table = new Table({
    head: heads,
    colAligns: heads.map((head) => (shown.some((row) => isNumber(row[head]!)) ? 'right' : 'left')),
    style: { head: [], border: [], compact: true },
  });
  const cells = shown.map((row) => heads.map((head) => cellText(head, row[head]!)));
  const places = heads.map((_, i) => Math.max(0, ...cells.map((row) => placesOf(row[i]!))));
  const isRight = (row: number, i: number) => isNumber(shown[row]![heads[i]!]!);
  for (const [at, row] of cells.entries())
    table.push(
      row.map((cell, i) =>
        isRight(at, i) ? cell + ' '.repeat(places[i]! - placesOf(cell)) : cell,
      ),
    );
  const hidden = rows.length - shown.length;
  const more = hidden === 0 ? '' : `(${hidden} more; --limit 0 shows all)\n`;
  return `\n${name} (${rows.length})\n${table.toString()}\n${more}`;
}

function isNumber(value: JsonValue): boolean {
  return typeof value === 'number' || value instanceof Decimal;
}

/** The number of characters from the decimal point on. */
function placesOf(cell: string): number {
  return /\.\d+$/.exec(cell)?.[0].length ?? 0;
}
