/**
 * Exact integer arithmetic on non-negative safe integers. Nothing here rounds but where its name says so.
 */
import { MAX_TOTAL_MICROS } from './limits.js';

/** floor(a × b / c), exact also where a × b passes 2^53. The quotient must be a safe integer; c > 0. */
export function mulDivFloor(a: number, b: number, c: number): number {
  const product = a * b;
  // A product within 2^53 is exact, and so is the floor of its quotient: the distance of a non-integer
  // quotient x/c from the next integer is at least 1/c, more than half an ulp of any quotient of an x < 2^53.
  if (product <= Number.MAX_SAFE_INTEGER) return Math.floor(product / c);
  return Number((BigInt(a) * BigInt(b)) / BigInt(c));
}

/** The fee on what a taker spent: half a percent, rounded up to a micro-dollar. */
export function feeOn(spentMicros: number): number {
  return Math.ceil(spentMicros / 200);
}

/** The sum, or 2^53 - 1 where it is more. For statistics such as volume, which may count the same money often. */
export function addSaturating(a: number, b: number): number {
  const sum = a + b;
  return Math.min(sum, Number.MAX_SAFE_INTEGER);
}

export function isIntegerBetween(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

export function isMoney(value: number): boolean {
  return isIntegerBetween(value, 0, MAX_TOTAL_MICROS);
}
