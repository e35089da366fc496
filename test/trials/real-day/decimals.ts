/** Expected amounts of money over HTTP, computed with big.js. */
import { Big } from 'big.js';
import { expect } from 'vitest';

export type OutcomeName = 'UP' | 'DOWN';
export type ResolutionName = OutcomeName | 'VOID';

/** 0.5% of an amount, rounded up to a micro-dollar. */
export function feeOn(amount: Big): Big {
  return amount.times('0.005').round(6, Big.roundUp);
}

export function expectDecimal(actual: number, expected: Big, what: string): void {
  expect(`${what}: ${new Big(actual).toFixed()}`).toBe(`${what}: ${expected.toFixed()}`);
}
