/** Fields and query parameters that the gateway refuses over real HTTP, by name. */
import { describe, test } from 'vitest';
import { PASSWORD, type Verb } from '../../support/server.js';
import { ACTIVE, buy, sell, withTwoTraders } from './refusals.js';

const { asAda, refused, traders } = withTwoTraders();

describe('fields that are not numbers', () => {
  const cases: [string, Verb, () => string, object, string][] = [
    ['an outcome in lower case', 'POST', () => buy, { outcome: 'up', amount: 1 }, 'outcome'],
    ['an outcome that is a number', 'POST', () => buy, { outcome: 0, amount: 1 }, 'outcome'],
    ['no outcome at all', 'POST', () => sell, { outcome: null, shares: 1 }, 'outcome'],
    [
      'a userId that is a number',
      'POST',
      () => buy,
      { outcome: 'UP', amount: 1, userId: 1 },
      'userId',
    ],
    [
      'a userId that is null',
      'POST',
      () => buy,
      { outcome: 'UP', amount: 1, userId: null },
      'userId',
    ],
    [
      'an unknown timeInForce',
      'POST',
      () => buy,
      { outcome: 'UP', amount: 1, timeInForce: 'DAY' },
      'timeInForce',
    ],
    [
      'GTC without a price',
      'POST',
      () => buy,
      { outcome: 'UP', amount: 1, timeInForce: 'GTC' },
      'price',
    ],
    [
      'a GTC sell without a price',
      'POST',
      () => sell,
      { outcome: 'UP', shares: 1, timeInForce: 'GTC' },
      'price',
    ],
    [
      'postOnly without GTC',
      'POST',
      () => buy,
      { outcome: 'UP', amount: 1, price: 0.4, postOnly: true },
      'postOnly',
    ],
    [
      'postOnly with IOC',
      'POST',
      () => sell,
      { outcome: 'UP', shares: 1, price: 0.4, postOnly: true, timeInForce: 'IOC' },
      'postOnly',
    ],
    [
      'postOnly that is a string',
      'POST',
      () => buy,
      { outcome: 'UP', amount: 1, postOnly: 'true' },
      'postOnly',
    ],
    [
      'amount and shares',
      'POST',
      () => buy,
      { outcome: 'UP', amount: 1, shares: 1, price: 0.4 },
      'shares',
    ],
    ['shares without a price', 'POST', () => buy, { outcome: 'UP', shares: 1 }, 'price'],
    [
      'shares and price with too large a value',
      'POST',
      () => buy,
      { outcome: 'UP', shares: 10_000_000, price: 0.5 },
      'shares',
    ],
    [
      'validUntilMs with a fraction',
      'POST',
      () => buy,
      { outcome: 'UP', amount: 1, validUntilMs: 1.5 },
      'validUntilMs',
    ],
    [
      'validUntilMs before the epoch',
      'POST',
      () => buy,
      { outcome: 'UP', amount: 1, validUntilMs: -1 },
      'validUntilMs',
    ],
    [
      'validUntilMs after the end of time',
      'POST',
      () => buy,
      { outcome: 'UP', amount: 1, validUntilMs: 1e15 },
      'validUntilMs',
    ],
    ['an amount on a sell', 'POST', () => sell, { outcome: 'UP', shares: 1, amount: 1 }, 'amount'],
    [
      'a stake of less than a dollar',
      'POST',
      () => '/vaults/flex/stake',
      { amount: 0.999999 },
      'amount',
    ],
    [
      'a short referral code',
      'PUT',
      () => `/users/${traders().ada.userId}/referral/code`,
      { code: 'ab' },
      'code',
    ],
    [
      'a referral code with a space',
      'PUT',
      () => `/users/${traders().ada.userId}/referral/code`,
      { code: 'a b c' },
      'code',
    ],
    [
      'a short username',
      'POST',
      () => '/auth/register',
      { username: 'ab', password: PASSWORD },
      'username',
    ],
    [
      'a long username',
      'POST',
      () => '/auth/register',
      { username: 'a'.repeat(21), password: PASSWORD },
      'username',
    ],
    [
      'a username beyond A-Z',
      'POST',
      () => '/auth/register',
      { username: 'zoë-x', password: PASSWORD },
      'username',
    ],
    [
      'a username with a line break',
      'POST',
      () => '/auth/register',
      { username: 'abc\n', password: PASSWORD },
      'username',
    ],
    [
      'a short password',
      'POST',
      () => '/auth/register',
      { username: 'someone', password: '1234567' },
      'password',
    ],
    [
      'a long password',
      'POST',
      () => '/auth/register',
      { username: 'someone', password: 'x'.repeat(129) },
      'password',
    ],
    [
      'a bad referral code',
      'POST',
      () => '/auth/register',
      { username: 'someone', password: PASSWORD, referralCode: '!' },
      'referralCode',
    ],
    [
      'a very long password',
      'POST',
      () => '/auth/login',
      { username: 'ada', password: 'x'.repeat(129) },
      'password',
    ],
    [
      'a short new password',
      'PUT',
      () => '/auth/password',
      { currentPassword: PASSWORD, newPassword: 'x' },
      'newPassword',
    ],
  ];
  test.each(cases)('%s', async (_what, method, path, body, field) => {
    await refused({
      method,
      path: path(),
      body,
      options: asAda(),
      status: 400,
      code: 'invalid_request',
      field,
    });
  });

  test.each(['a'.repeat(65), 'with space', 'naïve', 'a/b'])(
    'the Idempotency-Key %j',
    async (key) => {
      const options = {
        ...asAda(),
        headers: { 'idempotency-key': Buffer.from(key).toString('latin1') },
      };
      await refused({
        method: 'POST',
        path: buy,
        body: { outcome: 'UP', amount: 1 },
        options,
        status: 400,
        code: 'invalid_request',
        field: 'Idempotency-Key',
      });
    },
  );
});

describe('queries', () => {
  const cases: [string, string][] = [
    ['/markets?limit=0', 'limit'],
    ['/markets?limit=201', 'limit'],
    ['/markets?limit=ten', 'limit'],
    ['/markets?limit=', 'limit'],
    ['/markets?limit=1.5', 'limit'],
    ['/markets?limit=1e2', 'limit'],
    ['/markets?limit=-5', 'limit'],
    ['/markets?limt=5', 'limt'],
    ['/markets?limit=5&limit=6', 'limit'],
    ['/markets?status=open', 'status'],
    ['/markets?asset=DOGE', 'asset'],
    ['/markets?asset=%F0%9F%92%A5', 'asset'],
    ['/markets?cursor=xyz', 'cursor'],
    ['/markets?__proto__=1', '__proto__'],
    ['/markets/15m?asset=DOGE', 'asset'],
    ['/markets/15m?token=abc', 'token'],
    [`/markets/15m/${ACTIVE}/orderbook?depth=0`, 'depth'],
    [`/markets/15m/${ACTIVE}/orderbook?depth=1000`, 'depth'],
    [`/markets/15m/${ACTIVE}/quote`, 'outcome'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP`, 'amount'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&amount=0`, 'amount'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&amount=-1`, 'amount'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&amount=1e3`, 'amount'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&amount=NaN`, 'amount'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&amount=1.0000001`, 'amount'],
    // The double nearest to these values has at most six decimal places.
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&amount=100000.000000000000001`, 'amount'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&amount=1&price=0.500000000000001`, 'price'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&side=SELL&shares=99999.999999999999999`, 'shares'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&amount=1&shares=1`, 'shares'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&side=SELL&amount=1`, 'shares'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&side=SELL&shares=1.0001`, 'shares'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&amount=1&price=1`, 'price'],
    [`/markets/15m/${ACTIVE}/quote?outcome=UP&amount=1&side=buy`, 'side'],
    ['/users/u1?full=1', 'full'],
    ['/users/u1/positions?limit=1000', 'limit'],
    ['/users/u1/vaults?cursor=abc', 'cursor'],
    ['/vaults?sort=apr', 'sort'],
  ];
  test.each(cases)('GET %s', async (path, field) => {
    await refused({ method: 'GET', path, status: 400, code: 'invalid_request', field });
  });
});
