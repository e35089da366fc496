/**
 * The engine's exact arithmetic against BigInt, around the values where a double stops being exact.
 */
import { describe, expect, test } from 'vitest';
import { MAX_ORDER_MICROS, MAX_TOTAL_MICROS } from '../../engine/interface/limits.js';
import {
  FEE_BASIS_POINTS,
  feeOn,
  MAX_FEE_BASIS_POINTS,
} from '../../engine/interface/parameters.js';
import { addSaturating, mulDivFloor } from '../../engine/storage/arithmetic.js';
import { Random } from '../support/workload/random.js';

const MOST = Number.MAX_SAFE_INTEGER;

describe('floor(a × b / c)', () => {
  function expectExact(a: number, b: number, c: number): void {
    const exact = Number((BigInt(a) * BigInt(b)) / BigInt(c));
    // Half a million calls of `expect` would be slow.
    if (mulDivFloor(a, b, c) !== exact)
      expect({ a, b, c, is: mulDivFloor(a, b, c) }).toEqual({ a, b, c, is: exact });
  }

  test('is exact for a part of a cost, up to the largest total', () => {
    const random = new Random('1');
    for (let i = 0; i < 100_000; i++) {
      const whole = random.magnitude(MAX_TOTAL_MICROS / 1_000);
      expectExact(random.magnitude(MAX_TOTAL_MICROS), random.whole(0, whole), whole);
    }
  });

  test('is exact for products just below, at and above 2^53, and one short of the next quotient', () => {
    const random = new Random('2');
    for (let i = 0; i < 100_000; i++) {
      const c = random.magnitude(2 ** 40);
      const quotient = Math.floor(MOST / c) - random.whole(0, 3);
      for (const product of [quotient * c - 1, quotient * c, quotient * c + 1]) {
        if (product >= 0 && product <= MOST) expectExact(product, 1, c);
      }
      const b = random.magnitude(2 ** 26);
      const a = Math.floor(MOST / b) + random.whole(-2, 2);
      expectExact(Math.min(a, MOST), b, Math.max(b, random.magnitude(2 ** 30)));
    }
  });
});

test('the fee is rounded up, at both rates, for every amount that an order can spend', () => {
  const random = new Random('3');
  for (let i = 0; i < 100_000; i++) {
    const spent =
      i < 1_000
        ? i
        : random.chance(0.1)
          ? MAX_ORDER_MICROS - i
          : random.magnitude(MAX_ORDER_MICROS);
    const rate = i % 3 === 0 ? random.whole(0, MAX_FEE_BASIS_POINTS) : FEE_BASIS_POINTS;
    const exact = Number((BigInt(spent) * BigInt(rate) + 9_999n) / 10_000n);
    const fee = feeOn({ takerFeeBasisPoints: rate, curveFeeBasisPoints: 0 }, spent, spent);
    if (fee !== exact) expect({ spent, rate, fee }).toEqual({ spent, rate, fee: exact });
    const curve = random.whole(1, MAX_FEE_BASIS_POINTS);
    const nanos = random.chance(0.1) ? spent * 999 : random.whole(0, spent * 999);
    const micros = (BigInt(nanos) + 999n) / 1_000n;
    const rates = { takerFeeBasisPoints: rate, curveFeeBasisPoints: curve };
    const sum = BigInt(spent) * BigInt(rate) + micros * BigInt(curve);
    const both = feeOn(rates, spent, nanos);
    if (both !== Number((sum + 9_999n) / 10_000n))
      expect({ ...rates, spent, nanos, both }).toBe(sum);
  }
});

test('a saturating sum is exact up to the largest safe integer and stops there', () => {
  expect(addSaturating(MOST - 1, 1)).toBe(MOST);
  expect(addSaturating(MOST, 1)).toBe(MOST);
  expect(addSaturating(MOST, MOST)).toBe(MOST);
  expect(addSaturating(MOST, -1)).toBe(MOST - 1);
  expect(addSaturating(-MOST, -MOST)).toBe(-MOST);
  expect(Object.is(addSaturating(5, -5), 0)).toBe(true);
});
