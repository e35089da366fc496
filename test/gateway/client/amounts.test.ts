/** Exact amounts in the client: integers, their text, and the doubles in between. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_TOTAL_MICROS } from '../../../engine/interface/limits.js';
import { microsText } from '../../../engine/interface/notation.js';
import {
  fromLots,
  fromMicros,
  fromTicks,
  toLots,
  toMicros,
  toNumber,
  toTicks,
} from '../../../gateway/client/index.js';

/** From 2^33 dollars on, two amounts can have the same double. */
const AMBIGUOUS_FROM_MICROS = 2 ** 33 * 1_000_000;
const distinct = (options: { min: number; max: number }) =>
  fc.oneof(fc.integer(options), fc.integer({ ...options, min: options.max - 10_000 }));

describe('money', () => {
  test('survives JSON in both directions below 2^33 dollars, to the micro-dollar', () => {
    const max = AMBIGUOUS_FROM_MICROS - 1;
    fc.assert(
      fc.property(distinct({ min: -max, max }), (micros) => {
        // Text from the exchange, read by the client.
        expect(toMicros(JSON.parse(microsText(micros)))).toBe(micros);
        // Text from the client, which a double preserves.
        expect(fromMicros(micros)).toBe(microsText(micros));
        expect(toMicros(fromMicros(micros))).toBe(micros);
      }),
      { numRuns: 5_000 },
    );
  });

  test('is refused above, where a double is not enough, and exact as text', () => {
    const range = { min: AMBIGUOUS_FROM_MICROS, max: MAX_TOTAL_MICROS };
    fc.assert(
      fc.property(distinct(range), (micros) => {
        expect(() => toMicros(Number(fromMicros(micros)))).toThrow(RangeError);
        expect(toMicros(fromMicros(micros))).toBe(micros);
      }),
    );
    // Two amounts with the same double cannot be told apart.
    const [one, two] = ['8999999999.000001', '8999999999.000002'];
    expect(Number(one)).toBe(Number(two));
    expect(toMicros(two) - toMicros(one)).toBe(1);
  });

  test('is never rounded', () => {
    for (const amount of [0.1234567, 1e-7, Number.NaN, Number.POSITIVE_INFINITY, 1e22, 0.1 + 0.2])
      expect(() => toMicros(amount), `${amount}`).toThrow(RangeError);
    for (const text of ['', '1.', '.5', '1e3', ' 1', '+1', '0.0000001', '0x10', '9007199254740993'])
      expect(() => toMicros(text), text).toThrow(RangeError);
    expect(() => fromMicros(0.5)).toThrow(RangeError);
    expect(() => toNumber('8999999999.000001')).toThrow(RangeError);
    expect(toMicros('1.5000000')).toBe(1_500_000);
  });
});

test('shares and prices have three places', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000_000 }), (lots) => {
      expect(toLots(lots / 1_000)).toBe(lots);
      expect(toLots(fromLots(lots))).toBe(lots);
    }),
  );
  for (let ticks = 1; ticks < 1_000; ticks++) {
    expect(toTicks(ticks / 1_000)).toBe(ticks);
    expect(fromTicks(ticks)).toBe(`${ticks / 1_000}`);
  }
  expect(() => toLots(0.0005)).toThrow(RangeError);
  expect(() => toTicks('0.4955')).toThrow(RangeError);
});
