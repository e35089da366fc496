/**
 * The quick check of batches against zod, which has the last word: both accept the same bodies,
 * unchanged.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { quickCheck } from '../../../gateway/resources/batch/quick-check.js';
import { BatchBody } from '../../../gateway/resources/batch/requests.js';
import { StakeBody } from '../../../gateway/resources/vault/schemas.js';

const check = quickCheck(BatchBody);

/** As parsed from a body: some values that a test can write cannot be written as JSON. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** `expect` is slow; here it only reports the difference. */
function expectEqual(found: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(found, wanted)) expect(found).toStrictEqual(wanted);
}

const MARKET = 'btc-15m-1763700300';
const OPERATIONS = ['buy', 'sell', 'cancel', 'claim'] as const;
const FIELDS: Record<string, readonly unknown[]> = {
  op: OPERATIONS,
  marketId: [MARKET, ''],
  userId: ['u1', ''],
  outcome: ['UP', 'DOWN'],
  amount: [0.05, 1, 1_000_000, 1e-6, 5e-324],
  shares: [0.1, 10_000_000],
  price: [0.001, 0.3, 0.999],
  timeInForce: ['IOC', 'FOK', 'GTC'],
  postOnly: [true, false],
  validUntilMs: [0, 1, 8_640_000_000_000],
  orderId: ['o1', ''],
};
const ODD: readonly unknown[] = [
  ...[null, [], {}, [1], '', '0', 'BUY', 'up', 'toString', '__proto__'],
  ...[
    true,
    -1,
    0,
    -5e-324,
    1,
    0.0009999,
    0.9990001,
    1_000_000.0000001,
    10_000_001,
    1e21,
    8_640_000_000_001,
  ],
];
const ODD_NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'Op',
  'op ',
  'price_',
  '0',
];

const names = Object.keys(FIELDS);
const fieldOf = (name: string) =>
  fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom(...FIELDS[name]!) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD) },
  );

/** Rarely this value, usually none. */
const seldom = <T>(oneIn: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** Fields as entries, so that one can be named __proto__. */
const operation = fc
  .record({
    op: fc.constantFrom(...OPERATIONS),
    kept: fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), fieldOf(name), fc.nat(9)))),
    odd: seldom(12, fc.tuple(fc.constantFrom(...ODD_NAMES), fc.constantFrom(...ODD))),
    swapped: seldom(40, fc.constantFrom(...ODD)),
  })
  .map(({ op, kept, odd, swapped }) => {
    if (swapped !== undefined) return swapped;
    const needed = NEEDED[op];
    const entries: [string, unknown][] = [];
    for (const [name, value, chance] of kept) {
      const isUsual = needed.always.includes(name)
        ? chance > 0
        : needed.sometimes.includes(name) && chance > 4;
      if (isUsual) entries.push([name, name === 'op' ? op : value]);
    }
    if (odd !== undefined) entries.push(odd);
    return Object.fromEntries(entries);
  });
const ORDER_FIELDS = ['userId', 'price', 'timeInForce', 'postOnly', 'validUntilMs'];
const NEEDED: Record<(typeof OPERATIONS)[number], { always: string[]; sometimes: string[] }> = {
  buy: { always: ['op', 'marketId', 'outcome'], sometimes: ['amount', 'shares', ...ORDER_FIELDS] },
  sell: { always: ['op', 'marketId', 'outcome', 'shares'], sometimes: ORDER_FIELDS },
  cancel: { always: ['op', 'marketId', 'orderId'], sometimes: ['userId'] },
  claim: { always: ['op', 'marketId'], sometimes: ['userId'] },
};
const body = fc
  .record({
    operations: fc.oneof(
      { weight: 40, arbitrary: fc.array(operation, { minLength: 1, maxLength: 3 }) },
      fc.constantFrom<unknown>([], {}, null, 'x'),
    ),
    userId: seldom(4, fc.constantFrom<unknown>('u1', 'u2', '', 1, null)),
    atomic: seldom(3, fc.constantFrom<unknown>(true, false, true, false, 'true', null)),
    odd: seldom(20, fc.constantFrom(...ODD_NAMES)),
  })
  .map(({ odd, ...fields }) => (odd === undefined ? fields : { ...fields, [odd]: 1 }));

test('accepts exactly what zod accepts, and changes nothing', () => {
  let valid = 0;
  let invalid = 0;
  fc.assert(
    fc.property(body, (drawn) => {
      const json = asJson(drawn);
      const before = structuredClone(json);
      const parsed = BatchBody.safeParse(json);
      if (check(json) !== parsed.success) expect(check(json)).toBe(parsed.success);
      expectEqual(json, before);
      if (parsed.success) {
        expectEqual(parsed.data, json);
        valid++;
      } else invalid++;
    }),
    { numRuns: 30_000 },
  );
  expect(valid).toBeGreaterThan(3_000);
  expect(invalid).toBeGreaterThan(3_000);
});

test('agrees on numbers that only JSON can write', () => {
  for (const number of ['1e309', '-1e309', '-0', '1E-400', '0.1e1']) {
    for (const field of ['amount', 'shares', 'price', 'validUntilMs']) {
      const json: unknown = JSON.parse(
        `{"operations":[{"op":"buy","marketId":"${MARKET}","outcome":"UP","${field}":${number}}]}`,
      );
      expect(check(json), `${field} ${number}`).toBe(BatchBody.safeParse(json).success);
    }
  }
});

test('refuses one operation too many, and one field too many', () => {
  const operation = { op: 'claim', marketId: MARKET };
  expect(check({ operations: new Array(100).fill(operation) })).toBe(true);
  expect(check({ operations: new Array(101).fill(operation) })).toBe(false);
  expect(check({ operations: [{ ...operation, orderId: 'o1' }] })).toBe(false);
  expect(
    check(JSON.parse(`{"operations":[{"op":"claim","marketId":"${MARKET}","__proto__":{}}]}`)),
  ).toBe(false);
});

test('refuses a schema that JSON Schema cannot express', () => {
  expect(() => quickCheck(StakeBody)).toThrow('JSON Schema cannot express a schema of type');
  expect(() => quickCheck(z.number().refine((value) => value !== 3))).toThrow(
    'JSON Schema cannot express',
  );
  expect(() => quickCheck(z.strictObject({ a: z.string().transform(Number) }))).toThrow(
    'JSON Schema cannot express',
  );
  expect(() => quickCheck(z.array(z.string().default('x')))).toThrow('JSON Schema cannot express');
});
