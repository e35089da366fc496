/**
 * Every number that a client can send, over real HTTP: anything that is not a number or has no
 * exact value is refused by name.
 */
import { describe, expect, test } from 'vitest';
import type { RequestOptions } from '../../support/server.js';
import { ACTIVE, asPartner, buy, sell, withTwoTraders } from '../http/refusals.js';

const { asAda, refused } = withTwoTraders();

/** By route: a body that is valid except for the number. */
interface NumberField {
  method: 'POST' | 'PUT';
  path: string;
  body: object;
  field: string;
  places: number;
  tooMuch: number;
  options: () => RequestOptions;
}
const NUMBERS: NumberField[] = [
  {
    method: 'POST',
    path: buy,
    body: { outcome: 'UP' },
    field: 'amount',
    places: 6,
    tooMuch: 1_000_001,
    options: asAda,
  },
  {
    method: 'POST',
    path: buy,
    body: { outcome: 'UP', price: 0.01 },
    field: 'shares',
    places: 3,
    tooMuch: 10_000_001,
    options: asAda,
  },
  {
    method: 'POST',
    path: buy,
    body: { outcome: 'UP', amount: 1 },
    field: 'price',
    places: 3,
    tooMuch: 1,
    options: asAda,
  },
  {
    method: 'POST',
    path: sell,
    body: { outcome: 'UP' },
    field: 'shares',
    places: 3,
    tooMuch: 10_000_001,
    options: asAda,
  },
  {
    method: 'POST',
    path: sell,
    body: { outcome: 'UP', shares: 1 },
    field: 'price',
    places: 3,
    tooMuch: 1,
    options: asAda,
  },
  {
    method: 'POST',
    path: '/vaults/flex/stake',
    body: {},
    field: 'amount',
    places: 6,
    tooMuch: 100_000_001,
    options: asAda,
  },
  {
    method: 'POST',
    path: '/partner/deposits',
    body: { userId: 'u1', reference: 'r' },
    field: 'amount',
    places: 6,
    tooMuch: 100_000_001,
    options: asPartner,
  },
  {
    method: 'POST',
    path: '/partner/withdrawals',
    body: { userId: 'u1', reference: 'r' },
    field: 'amount',
    places: 6,
    tooMuch: 100_000_001,
    options: asPartner,
  },
];

describe.each(NUMBERS)(
  '$path: $field',
  ({ method, path, body, field, places, tooMuch, options }) => {
    const texts = {
      'a text': '"10"',
      null: 'null',
      'a boolean': 'true',
      'a list': '[1]',
      'an object': '{"value":1}',
      'too large for any number (1e309)': '1e309',
      'too negative for any number (-1e309)': '-1e309',
      negative: '-1',
      zero: '0',
      'minus zero': '-0',
      'too small to count': '1e-9',
      'the smallest double': '5e-324',
      'one decimal place too many': `0.${'0'.repeat(places)}1`,
      'digits that a double loses': '0.50000000000000000000001',
      'more than the maximum': `${tooMuch}`,
      'far more than the maximum': '1e18',
    };
    test.each(Object.entries(texts))('%s', async (_what, text) => {
      const raw = JSON.stringify({ ...body, [field]: 0.123 }).replace(
        `"${field}":0.123`,
        `"${field}":${text}`,
      );
      expect(raw).toContain(`"${field}":${text}`);
      const lost = text === '0.50000000000000000000001';
      const about = lost ? 'body' : field;
      await refused({
        method,
        path,
        options: { ...options(), raw },
        status: 400,
        code: 'invalid_request',
        field: about,
      });
    });

    test.each(['NaN', 'Infinity', '01', '.5', '1.', '+1', '0x10', '1_000'])(
      '%s is not JSON',
      async (text) => {
        const raw = JSON.stringify({ ...body, [field]: 0.123 }).replace(
          `"${field}":0.123`,
          `"${field}":${text}`,
        );
        await refused({
          method,
          path,
          options: { ...options(), raw },
          status: 400,
          code: 'invalid_json',
        });
      },
    );
  },
);

describe('a deadline of minus zero', () => {
  const order = (deadline: string) => `"outcome":"UP","amount":1,"validUntilMs":${deadline}`;
  test.each([
    ['a buy', buy, `{${order('-0')}}`],
    ['a buy, as a fraction too small for a double', buy, `{${order('-1e-400')}}`],
    ['a sell', sell, '{"outcome":"UP","shares":1,"validUntilMs":-0.0}'],
    ['a batch', '/batch', `{"operations":[{"op":"buy","marketId":"${ACTIVE}",${order('-0')}}]}`],
  ])('%s', async (_what, path, raw) => {
    const options = { ...asAda(), raw };
    await refused({ method: 'POST', path, options, status: 400, code: 'invalid_request' });
  });
});
