/**
 * What the gateway refuses over real HTTP, as tables: bodies, fields, queries, ids, routes and
 * methods; and the order of the checks. None of it reaches the journal.
 */
import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { PASSWORD, type RequestOptions, type Verb } from '../../support/server.js';
import { ACTIVE, asPartner, buy, ENDED, sell, withTwoTraders } from './refusals.js';

const { asAda, refused, traders } = withTwoTraders();

/** A route that takes a body, with a valid body. */
interface Taker {
  method: 'POST' | 'PUT' | 'DELETE';
  path: () => string;
  body: object;
  required: string[];
  options: () => RequestOptions;
}
const TAKERS: Taker[] = [
  {
    method: 'POST',
    path: () => buy,
    body: { outcome: 'UP', amount: 1 },
    required: ['outcome', 'amount'],
    options: asAda,
  },
  {
    method: 'POST',
    path: () => sell,
    body: { outcome: 'UP', shares: 1 },
    required: ['outcome', 'shares'],
    options: asAda,
  },
  {
    method: 'POST',
    path: () => `/markets/15m/${ENDED}/claim`,
    body: {},
    required: [],
    options: asAda,
  },
  {
    method: 'DELETE',
    path: () => `/markets/15m/${ACTIVE}/orders`,
    body: {},
    required: [],
    options: asAda,
  },
  {
    method: 'DELETE',
    path: () => `/markets/15m/${ACTIVE}/orders/o1`,
    body: {},
    required: [],
    options: asAda,
  },
  {
    method: 'POST',
    path: () => '/batch',
    body: { operations: [{ op: 'claim', marketId: ACTIVE }] },
    required: ['operations'],
    options: asAda,
  },
  {
    method: 'POST',
    path: () => '/vaults/flex/stake',
    body: { amount: 1 },
    required: ['amount'],
    options: asAda,
  },
  {
    method: 'POST',
    path: () => '/vaults/deposits/d1/unstake',
    body: {},
    required: [],
    options: asAda,
  },
  {
    method: 'POST',
    path: () => '/vaults/deposits/d1/claim',
    body: {},
    required: [],
    options: asAda,
  },
  {
    method: 'PUT',
    path: () => `/users/${traders().ada.userId}/referral/code`,
    body: { code: 'ABC' },
    required: ['code'],
    options: asAda,
  },
  {
    method: 'PUT',
    path: () => '/auth/password',
    body: { currentPassword: PASSWORD, newPassword: 'something new' },
    required: ['currentPassword', 'newPassword'],
    options: asAda,
  },
  {
    method: 'POST',
    path: () => '/auth/register',
    body: { username: 'someone', password: PASSWORD },
    required: ['username', 'password'],
    options: () => ({}),
  },
  {
    method: 'POST',
    path: () => '/auth/login',
    body: { username: 'ada', password: PASSWORD },
    required: ['username', 'password'],
    options: () => ({}),
  },
  { method: 'POST', path: () => '/auth/logout', body: {}, required: [], options: () => ({}) },
  {
    method: 'POST',
    path: () => '/partner/deposits',
    body: { userId: 'u1', amount: 1, reference: 'r' },
    required: ['userId', 'amount', 'reference'],
    options: asPartner,
  },
  {
    method: 'POST',
    path: () => '/partner/withdrawals',
    body: { userId: 'u1', amount: 1, reference: 'r' },
    required: ['userId', 'amount', 'reference'],
    options: asPartner,
  },
];

test('the table has every route that takes a body', () => {
  expect(TAKERS).toHaveLength(ROUTES.filter((route) => route.body !== undefined).length);
});

describe.each(TAKERS)('the body of $method $path', ({ method, path, body, required, options }) => {
  const send = (raw: string | Buffer, headers: Record<string, string> = {}): RequestOptions => {
    const { headers: own, ...rest } = options();
    return { ...rest, raw, headers: { ...own, ...headers } };
  };

  test.each(required)('without %s', async (name) => {
    const without = Object.fromEntries(Object.entries(body).filter(([key]) => key !== name));
    await refused({
      method,
      path: path(),
      body: without,
      options: options(),
      status: 400,
      code: 'invalid_request',
      field: name,
    });
  });

  test.each(['amonut', 'Amount', 'token', '__proto__', 'constructor'])(
    'with the unknown field %s',
    async (name) => {
      const raw = JSON.stringify(body).replace(
        /}$/,
        `${Object.keys(body).length === 0 ? '' : ','}"${name}":1}`,
      );
      await refused({
        method,
        path: path(),
        options: send(raw),
        status: 400,
        code: 'invalid_request',
        field: name,
      });
    },
  );

  test.each(['[]', '"text"', '5', 'null', 'true'])('%s in place of an object', async (raw) => {
    await refused({
      method,
      path: path(),
      options: send(raw),
      status: 400,
      code: 'invalid_request',
      field: 'body',
    });
  });

  test.each([
    '{',
    '{"outcome":}',
    "{'outcome':'UP'}",
    '{} {}',
    '\ufeff{}',
    ' ',
    'outcome=UP&amount=1',
  ])('%j, which is not JSON', async (raw) => {
    await refused({ method, path: path(), options: send(raw), status: 400, code: 'invalid_json' });
  });

  test('bytes that are not UTF-8', async () => {
    const raw = Buffer.concat([
      Buffer.from('{"outcome":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ]);
    await refused({ method, path: path(), options: send(raw), status: 400, code: 'invalid_json' });
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'application/jsonp',
    '',
  ])('as %j', async (type) => {
    const raw = JSON.stringify(body);
    await refused({
      method,
      path: path(),
      options: send(raw, { 'content-type': type }),
      status: 415,
      code: 'unsupported_media_type',
    });
  });

  test('of more than 64 KiB', async () => {
    const raw = JSON.stringify({ ...body, padding: 'x'.repeat(65_536) });
    await refused({
      method,
      path: path(),
      options: send(raw),
      status: 413,
      code: 'body_too_large',
    });
  });

  test('of exactly 64 KiB is read', async () => {
    const empty = JSON.stringify({ ...body, padding: '' });
    const raw = JSON.stringify({ ...body, padding: 'x'.repeat(65_536 - empty.length) });
    expect(raw).toHaveLength(65_536);
    await refused({
      method,
      path: path(),
      options: send(raw),
      status: 400,
      code: 'invalid_request',
      field: 'padding',
    });
  });

  test('with a query parameter that is not known', async () => {
    await refused({
      method,
      path: `${path()}?dryRun=1`,
      body,
      options: options(),
      status: 400,
      code: 'invalid_request',
      field: 'dryRun',
    });
  });
});

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

describe('what does not exist', () => {
  const marketIds = [
    'btc-15m-1763800200',
    'btc-15m-1763701201',
    'doge-15m-1763701200',
    'BTC-15m-1763701200',
    'btc-15m-01763701200',
    'btc-15m-',
    'btc-1h-1763701200',
    '%62tc-15m-1763701200x',
    '%zz',
    '..%2f..',
    'btc-15m-99999999999999',
    '-1',
    '0',
  ];
  test.each(marketIds)('the market %s, for reading', async (id) => {
    const refusal = { method: 'GET', status: 404, code: 'market_not_found' } as const;
    await traders().server.followed();
    await refused({ ...refusal, path: `/markets/${id}` });
    await refused({ ...refusal, path: `/markets/15m/${id}/orderbook` });
    await refused({ ...refusal, path: `/markets/15m/${id}/quote?outcome=UP&amount=1` });
  });
  test.each(marketIds.slice(1))('the market %s, for trading', async (id) => {
    const refusal = { options: asAda(), status: 404, code: 'market_not_found' } as const;
    await refused({
      ...refusal,
      method: 'POST',
      path: `/markets/15m/${id}/buy`,
      body: { outcome: 'UP', amount: 1 },
    });
    await refused({
      ...refusal,
      method: 'POST',
      path: `/markets/15m/${id}/sell`,
      body: { outcome: 'UP', shares: 1 },
    });
    await refused({ ...refusal, method: 'POST', path: `/markets/15m/${id}/claim` });
    await refused({ ...refusal, method: 'DELETE', path: `/markets/15m/${id}/orders` });
    await refused({ ...refusal, method: 'DELETE', path: `/markets/15m/${id}/orders/x1` });
  });
  test.each([
    'u999',
    'u0',
    'u01',
    'u-1',
    'U1',
    '1',
    'u1.5',
    'u9999999999999999999',
    '%75',
    'me',
    'u%00',
  ])('the user %s', async (id) => {
    for (const part of ['', '/positions', '/referral', '/vaults']) {
      await refused({
        method: 'GET',
        path: `/users/${id}${part}`,
        status: 404,
        code: 'user_not_found',
      });
    }
    await refused({
      method: 'GET',
      path: `/partner/users/${id}`,
      options: asPartner(),
      status: 404,
      code: 'user_not_found',
    });
  });
  test.each(['x1', 'd0', '1', 'd1e3'])('the vault deposit %s', async (id) => {
    for (const verb of ['claim', 'unstake']) {
      await refused({
        method: 'POST',
        path: `/vaults/deposits/${id}/${verb}`,
        options: asAda(),
        status: 404,
        code: 'deposit_not_found',
      });
    }
  });
  test.each(['o0', '1', 'u1', 'o1x'])('the order %s', async (id) => {
    await refused({
      method: 'DELETE',
      path: `/markets/15m/${ACTIVE}/orders/${id}`,
      options: asAda(),
      status: 404,
      code: 'order_not_found',
    });
  });
  test('an unknown user in a transfer', async () => {
    const body = { userId: 'nobody', amount: 1, reference: 'r1' };
    await refused({
      method: 'POST',
      path: '/partner/deposits',
      body,
      options: asPartner(),
      status: 404,
      code: 'user_not_found',
    });
  });
  test.each([
    '/nowhere',
    '/',
    '/markets/',
    '/markets/15m/',
    '/users',
    '/users/u1/secrets',
    `/markets/15m/${ACTIVE}`,
    '//markets',
    '/Markets',
  ])('the route %s', async (path) => {
    await refused({ method: 'GET', path, status: 404, code: 'route_not_found' });
    await refused({ method: 'POST', path, body: {}, status: 404, code: 'route_not_found' });
  });
});

describe('methods', () => {
  const paths = [...new Set(ROUTES.map((route) => route.path))];
  test.each(paths)('that %s does not accept', async (pattern) => {
    const path = pattern.replace(/:\w+/g, 'u1');
    const allowed = ROUTES.filter((route) => route.path === pattern).map((route) => route.method);
    const verbs: Verb[] = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];
    let refusals = 0;
    for (const method of verbs) {
      if ((allowed as Verb[]).includes(method)) continue;
      // "/markets/15m" also matches a market's path with the id "15m", and so on; the router takes
      // the closest match.
      const answer = await traders().api.send(method, path);
      expect([answer.status, answer.json.error.code]).toEqual([405, 'method_not_allowed']);
      const { allow } = answer.headers;
      for (const one of allowed) expect(allow).toContain(one);
      refusals++;
    }
    expect(refusals).toBeGreaterThan(3);
  });
});

test('a partner cannot name a second user in the query', async () => {
  const body = { userId: traders().ada.userId, amount: 1, reference: 'two-users' };
  const refusal = { options: asPartner(), status: 403, code: 'user_mismatch' as const };
  const other = `?userId=${traders().bob.userId}`;
  await refused({ ...refusal, method: 'POST', path: `/partner/deposits${other}`, body });
  await refused({ ...refusal, method: 'POST', path: `/partner/withdrawals${other}`, body });
  await refused({
    ...refusal,
    method: 'GET',
    path: `/partner/users/${traders().ada.userId}${other}`,
  });
  const same = `?userId=${traders().ada.userId}`;
  expect(
    (
      await traders().api.send(
        'GET',
        `/partner/users/${traders().ada.userId}${same}`,
        undefined,
        asPartner(),
      )
    ).status,
  ).toBe(200);
  expect(
    (await traders().api.send('POST', `/partner/deposits${same}`, body, asPartner())).status,
  ).toBe(200);
});

describe('the order of the checks', () => {
  test('is token, user, body, state', async () => {
    const unknown = '/markets/15m/btc-15m-1763701201/buy';
    const everythingWrong = { userId: traders().bob.userId, outcome: 'SIDEWAYS' };
    await refused({
      method: 'POST',
      path: unknown,
      body: everythingWrong,
      status: 401,
      code: 'missing_token',
    });
    await refused({
      method: 'POST',
      path: unknown,
      body: everythingWrong,
      options: asAda(),
      status: 403,
      code: 'user_mismatch',
    });
    await refused({
      method: 'POST',
      path: unknown,
      body: { outcome: 'SIDEWAYS' },
      options: asAda(),
      status: 400,
      code: 'invalid_request',
    });
    await refused({
      method: 'POST',
      path: unknown,
      body: { outcome: 'UP', amount: 1 },
      options: asAda(),
      status: 404,
      code: 'market_not_found',
    });
    const tooLarge = { raw: 'x'.repeat(70_000) };
    await refused({
      method: 'POST',
      path: unknown,
      options: tooLarge,
      status: 401,
      code: 'missing_token',
    });
    await refused({
      method: 'POST',
      path: '/partner/deposits',
      options: tooLarge,
      status: 403,
      code: 'partner_key_required',
    });
  });
});

describe('what already exists or has ended', () => {
  test.each(['ada', 'ADA', 'house', 'House'])(
    'the username %s, which is taken',
    async (username) => {
      await refused({
        method: 'POST',
        path: '/auth/register',
        body: { username, password: PASSWORD },
        status: 409,
        code: 'username_taken',
      });
    },
  );

  test('a quote in a market that has ended', async () => {
    const path = `/markets/15m/${ENDED}/quote?outcome=UP&amount=1`;
    await refused({ method: 'GET', path, status: 409, code: 'market_not_active' });
  });
});

test('an endless body is cut off, and the server continues', async () => {
  const raw = 'x'.repeat(8 * 1024 * 1024);
  const answer = await traders()
    .api.send('POST', buy, undefined, { ...asAda(), raw })
    .catch((error: Error) => error);
  // The answer may be lost if the connection closes while the client is still sending.
  if (!(answer instanceof Error)) expect(answer.status).toBe(413);
  expect((await traders().api.get('/health')).status).toBe(200);
});
