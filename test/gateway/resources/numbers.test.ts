/**
 * Every number that a client can send, over real HTTP: anything that is not a number or has no
 * exact value is refused by name.
 */
import { describe, expect, test } from 'vitest';
import type { RequestOptions } from '../../support/server.js';
import { ACTIVE, asPartner, buy, sell, withTwoTraders } from '../http/refusals.js';

const { asAda, refused, invalid } = await withTwoTraders();

/** By route: a body that is valid except for the number. */
const NUMBERS: [
  path: string,
  body: object,
  field: string,
  places: number,
  tooMuch: number,
  options?: RequestOptions,
][] = [
  [buy, { outcome: 'UP' }, 'amount', 6, 1_000_001],
  [buy, { outcome: 'UP', price: 0.01 }, 'shares', 3, 10_000_001],
  [buy, { outcome: 'UP', amount: 1 }, 'price', 3, 1],
  [sell, { outcome: 'UP' }, 'shares', 3, 10_000_001],
  [sell, { outcome: 'UP', shares: 1 }, 'price', 3, 1],
  [`/markets/15m/${ACTIVE}/split`, {}, 'shares', 3, 1_000_001],
  [`/markets/15m/${ACTIVE}/merge`, {}, 'shares', 3, 10_000_001],
  ['/vaults/flex/stake', {}, 'amount', 6, 100_000_001],
  ['/partner/deposits', { userId: 'u1', reference: 'r' }, 'amount', 6, 100_000_001, asPartner],
  ['/partner/withdrawals', { userId: 'u1', reference: 'r' }, 'amount', 6, 100_000_001, asPartner],
];

describe.each(NUMBERS)('%s %j: %s', (path, body, field, places, tooMuch, options = asAda) => {
  const withText = (text: string) => {
    const raw = JSON.stringify({ ...body, [field]: 0.123 }).replace('0.123', text);
    expect(raw).toContain(`"${field}":${text}`);
    return { method: 'POST', path, options: { ...options, raw } } as const;
  };
  const texts = {
    'a text that is no number': '"ten"',
    'an empty text': '""',
    'a text with white space': '" 1"',
    'a text with an exponent': '"1e1"',
    'a text with a sign': '"+1"',
    'a text with a leading zero': '"01"',
    'a text of more digits than a double has': '"0.50000000000000000000001"',
    'a text with too many places': `"0.${'0'.repeat(places)}1"`,
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
    'more than the maximum': `${tooMuch}`,
    'far more than the maximum': '1e18',
    'a huge exponent': '1e1000000000',
    'an exponent of 10,000 digits': `1e${'9'.repeat(10_000)}`,
    '60,000 digits': '9'.repeat(60_000),
  };
  test.each(Object.entries(texts))('%s', async (_what, text) => {
    await invalid({ ...withText(text), field });
  });

  test.each(['0.50000000000000000000001', '9007199254740993', '18446744073709551626'])(
    '%s, whose digits a double loses',
    async (text) => {
      await invalid({ ...withText(text), field: 'body' });
    },
  );

  test.each(['NaN', 'Infinity', '01', '.5', '1.', '+1', '0x10', '1_000'])(
    '%s is not JSON',
    async (text) => {
      await refused({ ...withText(text), status: 400, code: 'invalid_json' });
    },
  );
});

describe('a deadline of minus zero', () => {
  const order = (deadline: string) => `"outcome":"UP","amount":1,"validUntilMs":${deadline}`;
  test.each([
    ['a buy', buy, `{${order('-0')}}`],
    ['a buy, as a fraction too small for a double', buy, `{${order('-1e-400')}}`],
    ['a sell', sell, '{"outcome":"UP","shares":1,"validUntilMs":-0.0}'],
    ['a batch', '/batch', `{"operations":[{"op":"buy","marketId":"${ACTIVE}",${order('-0')}}]}`],
  ])('%s', async (_what, path, raw) => {
    const options = { ...asAda, raw };
    await invalid({ method: 'POST', path, options });
  });
});
