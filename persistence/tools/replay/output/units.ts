/** The engine's integers as exact decimals, because a double cannot hold all amounts. */
import { MAX_TIME_MS } from '../../../../engine/interface/limits.js';
import { lotsText, microsText, ticksText } from '../../../../engine/interface/notation.js';

export class Decimal {
  constructor(readonly text: string) {}
}

export type JsonValue = null | boolean | number | string | Decimal | JsonList | JsonObject;
export type JsonList = readonly JsonValue[];
export type JsonObject = { readonly [name: string]: JsonValue };

const decimalOf = (textOf: (value: number) => string) => (value: number | null) =>
  value === null ? null : new Decimal(textOf(value));
export const dollars = decimalOf(microsText);
export const shares = decimalOf(lotsText);
export const price = decimalOf(ticksText);

/** A time that may be never (0 for an order in an event). */
export function expiry(atMs: number): number | null {
  return atMs === MAX_TIME_MS || atMs === 0 ? null : atMs;
}

/** A refused command may have a number that is not a time. */
export function timeText(atMs: number): string {
  return atMs >= 0 && atMs <= MAX_TIME_MS ? new Date(atMs).toISOString() : `${atMs}`;
}

export function jsonText(value: JsonValue): string {
  if (value instanceof Decimal) return value.text;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(jsonText).join(',')}]`;
  const fields = Object.entries(value).map(
    ([name, field]) => `${JSON.stringify(name)}:${jsonText(field)}`,
  );
  return `{${fields.join(',')}}`;
}

export function isList(value: JsonValue): value is JsonList {
  return Array.isArray(value);
}

export function isObject(value: JsonValue): value is JsonObject {
  return (
    value !== null && typeof value === 'object' && !isList(value) && !(value instanceof Decimal)
  );
}
