/**
 * Objects as text for people. Consecutive objects of one type are a table; one alone is a block
 * with a line for each field. An object with objects in it is a line, with a line below it for each
 * object of its lists. Null and empty values are left out.
 */
import {
  Decimal,
  isList,
  isObject,
  type JsonObject,
  type JsonValue,
  jsonText,
  timeText,
} from './units.js';

export function textOf(objects: readonly JsonObject[]): string {
  let text = '';
  for (let from = 0, to = 0; from < objects.length; from = to) {
    const { type } = objects[from]!;
    while (objects[to]?.['type'] === type) to++;
    text += groupText(String(type), objects.slice(from, to));
  }
  return text;
}

function groupText(type: string, group: readonly JsonObject[]): string {
  if (group.some(hasObjects)) return group.map((object) => lineText(object)).join('');
  if (group.length > 1) return tableText(type, group);
  const lines = fieldsOf(group[0]!).map(([name, value]) => `  ${name} ${cellText(name, value)}\n`);
  return `\n${type}\n${lines.slice(1).join('')}`;
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

function hasObjects(object: JsonObject): boolean {
  return Object.values(object).some(
    (value) => isObject(value) || (isList(value) && value.some(isObject)),
  );
}

function fieldsOf(object: JsonObject): [name: string, value: JsonValue][] {
  return Object.entries(object).filter(([, value]) => !isEmpty(value));
}

function isEmpty(value: JsonValue): boolean {
  return value === null || value === '' || (isList(value) && value.length === 0);
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

/** Numbers are aligned to the right. */
function tableText(type: string, rows: readonly JsonObject[]): string {
  const [, ...names] = Object.keys(rows[0]!);
  const columns = names
    .filter((name) => rows.some((row) => !isEmpty(row[name] ?? null)))
    .map((name) => {
      const cells = [name, ...rows.map((row) => cellText(name, row[name] ?? null))];
      const width = cells.reduce((most, { length }) => Math.max(most, length), 0);
      const isRight = rows.some((row) => isNumber(row[name] ?? null));
      return cells.map((cell) => (isRight ? cell.padStart(width) : cell.padEnd(width)));
    });
  const lines = [names, ...rows].map((_, i) => columns.map((cells) => cells[i]!).join('  '));
  return `\n${type} (${rows.length})\n${lines.map((line) => `  ${line.trimEnd()}\n`).join('')}`;
}

function isNumber(value: JsonValue): boolean {
  return typeof value === 'number' || value instanceof Decimal;
}
