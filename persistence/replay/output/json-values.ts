/**
 * JSON values with exact decimals: amounts are written as text, because a double cannot hold all.
 */
import { lotsText, microsText, ticksText } from '../../../engine/interface/notation.js';

export class Decimal {
  constructor(readonly text: string) {}
}

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | Decimal
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

export const dollars = (micros: number) => new Decimal(microsText(micros));
export const shares = (lots: number) => new Decimal(lotsText(lots));
export const price = (ticks: number) => new Decimal(ticksText(ticks));

export function timeText(atMs: number): string {
  return new Date(atMs).toISOString();
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

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
