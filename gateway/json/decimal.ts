/**
 * Converts JSON numbers to the engine's integers, and integers to exact decimal text. A client's
 * number is never rounded. Doubles suffice: up to fifteen significant digits, a decimal and its
 * nearest double determine each other.
 */
import { Big } from 'big.js';
import type { z } from 'zod';
import {
  lotsText,
  MAX_FIFTEEN_DIGITS,
  microsText,
  ticksText,
} from '../../engine/interface/notation.js';

export {
  LOT_SCALE,
  lotsText,
  MICRO_SCALE,
  microsText,
  TICK_SCALE,
  ticksText,
} from '../../engine/interface/notation.js';

export type DecimalBrand = z.core.$brand<'Decimal'>;

/** A decimal as its exact JSON text, which `JSON.stringify` writes unchanged. */
export interface Decimal {
  readonly rawJSON: string;
}

declare global {
  interface JSON {
    /** In V8 since Node 21 (https://github.com/tc39/proposal-json-parse-with-source). */
    rawJSON(text: string): Decimal;
  }
}

/** 1500000 micros → 1.5 dollars; 2500 lots → 2.5 shares; 495 ticks → a price of 0.495. */
export const micros = (integer: number): Decimal => JSON.rawJSON(microsText(integer));
export const lots = (integer: number): Decimal => JSON.rawJSON(lotsText(integer));
export const ticks = (integer: number): Decimal => JSON.rawJSON(ticksText(integer));

export function microsOrNull(integer: number | null): Decimal | null {
  return integer === null ? null : micros(integer);
}

/** value × scale if that is an integer of at most 15 digits; NaN for too many decimal places. */
export function scaledInteger(value: number, scale: number): number {
  const scaled = Math.round(value * scale);
  return Math.abs(scaled) <= MAX_FIFTEEN_DIGITS && scaled / scale === value ? scaled : Number.NaN;
}

export function microsTextOrNull(micros: number | null): string {
  return micros === null ? 'null' : microsText(micros);
}

/** In micro-dollars per share (1,000 lots), rounded half up; `null` for no lots. */
export function averagePriceMicros(valueMicros: number, lots: number): number | null {
  if (lots === 0) return null;
  const thousandfold = valueMicros * 1_000;
  if (thousandfold <= Number.MAX_SAFE_INTEGER) {
    const floor = Math.floor(thousandfold / lots);
    return (thousandfold - floor * lots) * 2 >= lots ? floor + 1 : floor;
  }
  const divisor = BigInt(lots);
  return Number((BigInt(valueMicros) * 2_000n + divisor) / (divisor * 2n));
}

/** A run of this many digits and points may not fit a double. */
const LONG_NUMBER = /[\d.]{16}/;
/** No double has a longer decimal without superfluous zeros. */
const EXACT_LENGTH_MAX = 1_100;
/** Limits above the long numbers, and strings and numbers, of any text that a schema accepts. */
const LONG_MAX = 100;
const TOKENS_MAX = 12_000;
const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Finds a number that a double cannot hold. The range checks refuse 1e309 and 1e-400. */
export function inexactNumber(json: string): string | null {
  if (!LONG_NUMBER.test(json)) return null;
  let [tokens, long] = [0, 0];
  for (const [token] of json.matchAll(JSON_TOKENS)) {
    if (tokens++ === TOKENS_MAX) break;
    if (token.startsWith('"') || !LONG_NUMBER.test(token)) continue;
    if (long++ === LONG_MAX) return token;
    const value = Number(token);
    if (!Number.isFinite(value)) continue;
    if (token.length > EXACT_LENGTH_MAX || !new Big(token).eq(new Big(value))) return token;
  }
  return null;
}
