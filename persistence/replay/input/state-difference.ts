/** The first difference between two states of the exchange, as JSON values. */
import { Decimal, type JsonValue } from '../output/json-values.js';

export type StateDifference = {
  /** Such as `users u12 available`. */
  path: string;
  /** undefined: only the other state has it. */
  a: JsonValue | undefined;
  b: JsonValue | undefined;
};

type Fields = { readonly [name: string]: JsonValue };

/** Of fields that tell rows of a list apart. */
const IDS = ['id', 'orderId', 'depositId', 'userId', 'marketId', 'symbol', 'asset'];

/** Compares field by field and row by row, in the order of the first state. null: no difference. */
export function firstDifference(a: Fields, b: Fields): StateDifference | null {
  return differenceAt([], a, b);
}

function differenceAt(
  path: readonly string[],
  a: JsonValue | undefined,
  b: JsonValue | undefined,
): StateDifference | null {
  if (isList(a) && isList(b)) return differenceOf(path, byId(a), byId(b));
  if (isFields(a) && isFields(b)) return differenceOf(path, a, b);
  if (textOf(a) === textOf(b)) return null;
  return { path: path.join(' '), a, b };
}

function differenceOf(path: readonly string[], a: Fields, b: Fields): StateDifference | null {
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = differenceAt([...path, name], a[name], b[name]);
    if (found !== null) return found;
  }
  return null;
}

/** The rows of a list by what tells them apart: their place, if nothing else does. */
function byId(rows: readonly JsonValue[]): Fields {
  const entries = rows.map((row, place) => {
    const ids = isFields(row) ? IDS.filter((name) => name in row).map((name) => row[name]) : [];
    return [ids.length === 0 ? String(place) : ids.map(textOf).join(' '), row] as const;
  });
  return Object.fromEntries(entries);
}

function textOf(value: JsonValue | undefined): string {
  return value instanceof Decimal ? value.text : String(value);
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function isFields(value: JsonValue | undefined): value is Fields {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Decimal)
  );
}
