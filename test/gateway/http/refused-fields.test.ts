/** Fields and query parameters that the gateway refuses over real HTTP, by name. */
import { describe, test } from 'vitest';
import { PASSWORD, type Verb } from '../../support/server.js';
import { ACTIVE, buy, sell, withTwoTraders } from './refusals.js';

const { asAda, invalid } = await withTwoTraders();

/** A body without the field, and values of the field that are refused. */
const FIELDS: [Verb, path: string, body: object, field: string, values: unknown[]][] = [
  ['POST', buy, { amount: 1 }, 'outcome', ['up', 0]],
  ['POST', sell, { shares: 1 }, 'outcome', [null]],
  ['POST', buy, { outcome: 'UP', amount: 1 }, 'userId', [1, null]],
  ['POST', buy, { outcome: 'UP', amount: 1 }, 'timeInForce', ['DAY']],
  ['POST', buy, { outcome: 'UP', amount: 1, timeInForce: 'GTC' }, 'price', [undefined]],
  ['POST', sell, { outcome: 'UP', shares: 1, timeInForce: 'GTC' }, 'price', [undefined]],
  ['POST', buy, { outcome: 'UP', amount: 1, price: 0.4 }, 'postOnly', [true, 'true']],
  ['POST', sell, { outcome: 'UP', shares: 1, price: 0.4, timeInForce: 'IOC' }, 'postOnly', [true]],
  ['POST', buy, { outcome: 'UP', amount: 1, price: 0.4 }, 'shares', [1]],
  ['POST', buy, { outcome: 'UP', shares: 1 }, 'price', [undefined]],
  // Worth more than the maximum of an order.
  ['POST', buy, { outcome: 'UP', price: 0.5 }, 'shares', [10_000_000]],
  ['POST', buy, { outcome: 'UP', amount: 1 }, 'validUntilMs', [1.5, -1, 1e15]],
  ['POST', sell, { outcome: 'UP', shares: 1 }, 'amount', [1]],
  ['POST', '/vaults/flex/stake', {}, 'amount', [0.999999]],
  ['PUT', '/users/u1/referral/code', {}, 'code', ['ab', 'a b c']],
  [
    'POST',
    '/auth/register',
    { password: PASSWORD },
    'username',
    ['ab', 'a'.repeat(21), 'zoë-x', 'abc\n'],
  ],
  ['POST', '/auth/register', { username: 'someone' }, 'password', ['1234567', 'x'.repeat(129)]],
  ['POST', '/auth/register', { username: 'someone', password: PASSWORD }, 'referralCode', ['!']],
  ['POST', '/auth/login', { username: 'ada' }, 'password', ['x'.repeat(129)]],
  ['PUT', '/auth/password', { currentPassword: PASSWORD }, 'newPassword', ['x']],
];
const cases = FIELDS.flatMap(([method, path, body, field, values]) =>
  values.map((value) => [method, path, { ...body, [field]: value }, field] as const),
);

test.each(cases)('%s %s %j: %s', async (method, path, body, field) => {
  await invalid({ method, path, body, options: asAda, field });
});

describe('queries', () => {
  const book = `/markets/15m/${ACTIVE}/orderbook`;
  const quote = `/markets/15m/${ACTIVE}/quote`;
  const queries: [path: string, field: string, queries: string[]][] = [
    [
      '/markets',
      'limit',
      ['0', '201', 'ten', '', '1.5', '1e2', '-5', '5&limit=6'].map(of('limit')),
    ],
    ['/markets', 'limt', ['limt=5']],
    ['/markets', 'minSequence', ['x', '1e3', '-1', '9999999999999999'].map(of('minSequence'))],
    ['/markets', 'status', ['status=open']],
    ['/markets/15m', 'status', ['status=upcoming']],
    ['/markets', 'asset', ['asset=DOGE', 'asset=%F0%9F%92%A5']],
    ['/markets', 'cursor', ['cursor=xyz']],
    ['/markets', '__proto__', ['__proto__=1']],
    ['/markets/15m', 'asset', ['asset=DOGE']],
    ['/markets/15m', 'token', ['token=abc']],
    [
      '/markets/15m/history',
      'fromMs',
      ['', '-1', '1.5', '1e3', '8640000000001', '2&toMs=1'].map(of('fromMs')),
    ],
    ['/markets/15m/history', 'priceHistory', ['priceHistory=OFF', 'priceHistory=']],
    [book, 'depth', ['depth=0', 'depth=1000']],
    [quote, 'outcome', ['']],
    // The double nearest to the last of these values has at most six decimal places.
    [
      `${quote}?outcome=UP`,
      'amount',
      ['', ...['0', '-1', '1e3', 'NaN', '1.0000001', '100000.000000000000001'].map(of('amount'))],
    ],
    [`${quote}?outcome=UP&amount=1`, 'price', ['price=1', 'price=0.500000000000001']],
    [`${quote}?outcome=UP&amount=1`, 'shares', ['shares=1']],
    [`${quote}?outcome=UP&amount=1`, 'side', ['side=buy']],
    [
      `${quote}?outcome=UP&side=SELL`,
      'shares',
      ['amount=1', 'shares=1.0001', 'shares=99999.999999999999999'],
    ],
    ['/users/u1', 'full', ['full=1']],
    ['/users/u1/positions', 'limit', ['limit=1000']],
    ['/users/u1/positions', 'status', ['status=closed']],
    ['/users/u1/vaults', 'cursor', ['cursor=abc']],
    ['/vaults', 'sort', ['sort=apr']],
  ];
  const cases = queries.flatMap(([path, field, queries]) =>
    queries.map((query) => [`${path}${path.includes('?') ? '&' : '?'}${query}`, field] as const),
  );
  test.each(cases)('GET %s', async (path, field) => {
    await invalid({ method: 'GET', path, field });
  });
});

function of(name: string): (value: string) => string {
  return (value) => `${name}=${value}`;
}
