/**
 * The engine's integers as the tool shows them: in JSON as exact decimals, because a double cannot
 * hold all amounts, and in text with their unit.
 */
import { MAX_TIME_MS } from '../../../../engine/interface/limits.js';
import { lotsText, microsText, ticksText } from '../../../../engine/interface/notation.js';

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

/** How a number is shown. */
export interface Unit {
  json(value: number): JsonValue;
  text(value: number): string;
  isNumber: boolean;
}

export const dollars = (micros: number) => new Decimal(microsText(micros));

export const DOLLARS: Unit = { json: dollars, text: dollarsText, isNumber: true };
export const SHARES: Unit = unitOf(lotsText);
export const PRICE: Unit = unitOf(ticksText);
export const POINTS: Unit = unitOf(microsText);
export const COUNT: Unit = { json: (count) => count, text: String, isNumber: true };
export const TIME: Unit = { json: (atMs) => atMs, text: timeText, isNumber: false };
/** A time that may be never; of an order in an event, 0 is. */
export const EXPIRY: Unit = {
  ...TIME,
  json: (atMs) => (atMs === MAX_TIME_MS || atMs === 0 ? null : atMs),
};

function unitOf(text: (value: number) => string): Unit {
  return { json: (value) => new Decimal(text(value)), text, isNumber: true };
}

/** "$1,234.50": at least two decimals, at most six. */
export function dollarsText(micros: number): string {
  const [whole, fraction = ''] = microsText(Math.abs(micros)).split('.');
  const grouped = whole!.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${micros < 0 ? '-' : ''}$${grouped}.${fraction.padEnd(2, '0')}`;
}

/** "+$10.00", "-$0.05", or "" without a change. */
export function changeText(micros: number): string {
  if (micros === 0) return '';
  return micros > 0 ? `+${dollarsText(micros)}` : dollarsText(micros);
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

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
