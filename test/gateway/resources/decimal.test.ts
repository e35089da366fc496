/** Decimals at the API against big.js: input is exact or refused, output is exact. */
import { Big } from 'big.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_TOTAL_MICROS } from '../../../engine/interface/limits.js';
import {
  averagePriceMicros,
  inexactNumber,
  LOT_SCALE,
  lotsText,
  MICRO_SCALE,
  microsText,
  scaledInteger,
  TICK_SCALE,
  ticksText,
} from '../../../gateway/json/decimal.js';

const SCALES = fc.constantFrom(MICRO_SCALE, TICK_SCALE, LOT_SCALE);
/** Integers of every magnitude, small ones as often as large ones. */
const integers = (max: number) =>
  fc
    .tuple(fc.integer({ min: 0, max: 52 }), fc.maxSafeInteger())
    .map(([bits, n]) => Math.abs(n) % Math.min(2 ** bits + 1, max + 1));
const RUNS = { numRuns: 20_000 };

test('parses every decimal of the scale to its integer', () => {
  fc.assert(
    fc.property(integers(999_999_999_999_999), SCALES, (integer, scale) => {
      const json = new Big(integer).div(scale).toFixed();
      return Object.is(scaledInteger(JSON.parse(json), scale), integer);
    }),
    RUNS,
  );
});

test('refuses a decimal with one place more than the scale, whatever its size', () => {
  fc.assert(
    fc.property(
      integers(99_999_999_999_999),
      fc.integer({ min: 1, max: 9 }),
      SCALES,
      (integer, digit, scale) => {
        const json = new Big(integer).times(10).plus(digit).div(scale).div(10).toFixed();
        return Number.isNaN(scaledInteger(JSON.parse(json), scale));
      },
    ),
    RUNS,
  );
});

test('accepts a double only if its shortest decimal fits the scale', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), SCALES, (value, scale) => {
      const exact = new Big(value).times(scale);
      const isInteger = exact.eq(exact.round(0)) && exact.abs().lte(999_999_999_999_999);
      const scaled = scaledInteger(value, scale);
      return isInteger ? exact.eq(scaled) : Number.isNaN(scaled);
    }),
    RUNS,
  );
});

test('writes money and shares as exact decimals, up to the largest total', () => {
  fc.assert(
    fc.property(integers(MAX_TOTAL_MICROS), fc.boolean(), (size, negative) => {
      const integer = negative ? 0 - size : size;
      const big = new Big(integer);
      return (
        microsText(integer) === big.div(MICRO_SCALE).toFixed() &&
        lotsText(integer) === big.div(LOT_SCALE).toFixed()
      );
    }),
    RUNS,
  );
});

test('writes the edge cases exactly', () => {
  expect(microsText(1)).toBe('0.000001');
  expect(microsText(-1)).toBe('-0.000001');
  expect(microsText(0)).toBe('0');
  expect(microsText(MAX_TOTAL_MICROS)).toBe('9000000000');
  expect(microsText(MAX_TOTAL_MICROS - 1)).toBe('8999999999.999999');
  expect(microsText(1 - MAX_TOTAL_MICROS)).toBe('-8999999999.999999');
  expect(lotsText(9_007_199_254_740_991)).toBe('9007199254740.991');
  for (let ticks = 1; ticks <= 999; ticks++)
    expect(ticksText(ticks)).toBe(new Big(ticks).div(1_000).toFixed());
});

test('rounds an average price half up to a micro-dollar', () => {
  fc.assert(
    fc.property(integers(MAX_TOTAL_MICROS), integers(9_000_000_000_000), (valueMicros, lots) => {
      if (lots === 0) return averagePriceMicros(valueMicros, lots) === null;
      const expected = new Big(valueMicros).times(2_000).plus(lots).div(new Big(lots).times(2));
      const floor = expected.round(0, Big.roundDown);
      fc.pre(floor.lte(Number.MAX_SAFE_INTEGER));
      return Object.is(averagePriceMicros(valueMicros, lots), floor.toNumber());
    }),
    RUNS,
  );
  expect(averagePriceMicros(1, 2_000)).toBe(1);
  expect(averagePriceMicros(1, 2_001)).toBe(0);
});

test('finds a number that a double cannot hold anywhere in a text', () => {
  const inexact = [
    '1.00000000000000000001',
    '0.10000000000000000001',
    '9007199254740993',
    '123456789012345678',
  ];
  for (const number of inexact) {
    expect(inexactNumber(`{"amount":${number}}`)).toBe(number);
    expect(inexactNumber(`{"a":"x","b":[1,${number}]}`)).toBe(number);
    expect(inexactNumber(`{"a":"${number}","b\\"":"\\"${number}"}`)).toBe(null);
  }
  for (const number of [
    '1',
    '0.1',
    '999999.999999',
    '1700000000000',
    '9007199254740992',
    '0.1000000000000000',
  ]) {
    expect(inexactNumber(`{"amount":${number}}`)).toBe(null);
  }
  // The long number may begin at any position. Fifteen digits and a point are safe.
  const long = '0.12345678901234567890';
  for (let before = 0; before < 40; before++) {
    const text = `{"a${'b'.repeat(before)}":${long},"c":1}`;
    expect(inexactNumber(text)).toBe(long);
    expect(inexactNumber(text.replace(long, '123456.789012345'))).toBe(null);
    expect(inexactNumber(`{"a${'b'.repeat(before)}":"${long}"}`)).toBe(null);
  }
});
