/**
 * Refusals over real HTTP, except of operations (see conformance/): ids, routes, methods, bodies,
 * fields, queries and numbers. Each has a status, a code, a readable message and details that name
 * the field. Refusals by the gateway do not reach the journal. Refusals by the engine are
 * sequenced, and no account changes.
 */
import { afterAll, describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../../gateway/commands/errors.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import {
  codeOf,
  PARTNER_KEY,
  PARTNER_KEYS,
  PASSWORD,
  type RequestOptions,
  TestServer,
  type Verb,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';

const ENDED = 'btc-15m-1763700300';
const ACTIVE = 'btc-15m-1763701200';
const buy = `/markets/15m/${ACTIVE}/buy`;
const sell = `/markets/15m/${ACTIVE}/sell`;
const asPartner = { headers: { authorization: `Bearer ${PARTNER_KEY}` } };

// An ended, unresolved market; an active one with a bid by Ada and an offer by Bob, who both own
// shares; and a vault deposit of Ada's.
const server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
afterAll(() => server.stop());
const { api } = server;
const ada = await server.register('ada');
const bob = await server.register('bob');
const asAda = { token: ada.token };
await server.passTime(WINDOW_START_MS + WINDOW_MS, 100_000);
const rest = { timeInForce: 'GTC' };
for (const [trader, body] of [
  [ada, { outcome: 'UP', shares: 20, price: 0.4, ...rest }],
  [bob, { outcome: 'DOWN', amount: 6 }],
  [bob, { outcome: 'DOWN', shares: 5, price: 0.5, ...rest }],
] as const)
  expect((await server.buy(trader, body, ACTIVE)).status).toBe(200);
expect((await api.post('/vaults/flex/stake', { amount: 5 }, ada.token)).status).toBe(201);

interface Refusal {
  method: Verb;
  path: string;
  body?: unknown;
  options?: RequestOptions;
  status: number;
  code: ErrorCode;
  /** The field named in the details. */
  field?: string | undefined;
}

async function send({ method, path, body, options, status, code, field }: Refusal) {
  const answer = await api.send(method, path, body, options);
  expect(codeOf(answer), answer.text).toBe(`${status} ${code}`);
  const { message, details } = answer.json.error;
  // Expects a sentence that starts with a capital, hides internals, and names the field, if any.
  expect(message).toMatch(/^[A-Z].*\.$/);
  expect(message).not.toMatch(/undefined|null|NaN|zod|expected|\[object/i);
  if (field === undefined) return;
  expect(Object.keys(details)).toContain(field);
  expect(message).toContain(field);
}

async function refused(refusal: Refusal): Promise<void> {
  const before = await server.state();
  await send(refusal);
  expect(await server.state()).toEqual(before);
}
const invalid = (refusal: Omit<Refusal, 'status' | 'code'>) =>
  refused({ ...refusal, status: 400, code: 'invalid_request' });

async function rejected(refusal: Refusal): Promise<void> {
  const before = await server.shown([ada, bob], ACTIVE);
  const { sequence } = await server.state();
  await send(refusal);
  expect((await server.state()).sequence).toBe(sequence + 1);
  expect(await server.shown([ada, bob], ACTIVE)).toEqual(before);
}

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
  const missing = (what: ErrorCode, method: Verb, path: string, more: object = {}) =>
    refused({ method, path, status: 404, code: what, ...more });

  test.each(marketIds)('the market %s, for reading', async (id) => {
    await server.followed();
    for (const path of [id, `15m/${id}/orderbook`, `15m/${id}/quote?outcome=UP&amount=1`])
      await missing('market_not_found', 'GET', `/markets/${path}`);
  });
  test.each(['u999', 'u0', 'u01', 'u-1', 'U1', '1', 'u1.5', 'u9999999999999999999', '%75', 'u%00'])(
    'the user %s',
    async (id) => {
      for (const part of ['', '/positions', '/referral', '/vaults'])
        await missing('user_not_found', 'GET', `/users/${id}${part}`);
      await missing('user_not_found', 'GET', `/partner/users/${id}`, { options: asPartner });
    },
  );
  test.each(['x1', 'd0', '1', 'd1e3'])('the vault deposit %s', async (id) => {
    for (const verb of ['claim', 'unstake']) {
      const path = `/vaults/deposits/${id}/${verb}`;
      await missing('deposit_not_found', 'POST', path, { options: asAda });
    }
  });
  test('an unknown user in a transfer', async () => {
    const body = { userId: 'nobody', amount: 1, reference: 'r1' };
    const more = { body, options: asPartner };
    await missing('user_not_found', 'POST', '/partner/deposits', more);
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
    await missing('route_not_found', 'GET', path);
    await missing('route_not_found', 'POST', path, { body: {} });
  });
});

const paths = [...new Set(ROUTES.map((route) => route.path))];
test.each(paths)('methods that %s does not accept', async (pattern) => {
  const path = pattern.replace(/:\w+/g, 'u1');
  const allowed = ROUTES.filter((route) => route.path === pattern).map((route) => route.method);
  const verbs: Verb[] = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];
  let refusals = 0;
  for (const method of verbs) {
    if ((allowed as Verb[]).includes(method)) continue;
    // The router takes the closest match: "/markets/15m" could also be a market's path.
    const answer = await api.send(method, path);
    expect(codeOf(answer)).toBe('405 method_not_allowed');
    const { allow } = answer.headers;
    for (const one of allowed) expect(allow).toContain(one);
    refusals++;
  }
  expect(refusals).toBeGreaterThan(3);
});

test('a partner cannot name a second user in the query', async () => {
  const body = { userId: ada.userId, amount: 1, reference: 'two-users' };
  for (const [method, path] of [
    ['POST', '/partner/deposits'],
    ['POST', '/partner/withdrawals'],
    ['GET', `/partner/users/${ada.userId}`],
  ] as const) {
    const request = { method, ...(method === 'GET' ? {} : { body }), options: asPartner };
    const other = { ...request, path: `${path}?userId=${bob.userId}` };
    await refused({ ...other, status: 403, code: 'user_mismatch' });
    // Ada is not a user of the partner, so the partner may not withdraw from her.
    if (path === '/partner/withdrawals') continue;
    const same = `${path}?userId=${ada.userId}`;
    const { status } = await api.send(method, same, request.body, request.options);
    expect(status).toBe(200);
  }
});

test('the checks are, in order: token, user, body, state', async () => {
  const path = '/markets/15m/btc-15m-1763701201/buy';
  const wrong = { userId: bob.userId, outcome: 'SIDEWAYS' };
  const tooLarge = { raw: 'x'.repeat(70_000) };
  for (const [status, code, request] of [
    [401, 'missing_token', { path, body: wrong }],
    [403, 'user_mismatch', { path, body: wrong, options: asAda }],
    [400, 'invalid_request', { path, body: { outcome: 'SIDEWAYS' }, options: asAda }],
    [401, 'missing_token', { path, options: tooLarge }],
    [403, 'partner_key_required', { path: '/partner/deposits', options: tooLarge }],
  ] as const)
    await refused({ method: 'POST', ...request, status, code });
  const body = { outcome: 'UP', amount: 1 };
  const last = { method: 'POST', path, body, options: asAda } as const;
  await rejected({ ...last, status: 404, code: 'market_not_found' });
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

test.each<[Verb, string, object | undefined, number, ErrorCode]>([
  ['POST', `/markets/15m/${ENDED}/buy`, { outcome: 'UP', amount: 1 }, 409, 'market_not_active'],
  ['POST', `/markets/15m/${ENDED}/claim`, undefined, 409, 'market_not_resolved'],
  // Another user's order.
  ['DELETE', `/markets/15m/${ACTIVE}/orders/o3`, undefined, 404, 'order_not_found'],
  ['POST', '/vaults/deposits/d77/unstake', undefined, 404, 'deposit_not_found'],
  // The deposit's yield is zero.
  ['POST', '/vaults/deposits/d1/claim', undefined, 409, 'nothing_to_claim'],
  ['POST', '/vaults/flex/stake', { amount: 99_999 }, 422, 'insufficient_balance'],
])('%s %s %j: %i %s', async (method, path, body, status, code) => {
  await rejected({ method, path, body, options: asAda, status, code });
});

test("another user's vault deposit is not found", async () => {
  for (const verb of ['unstake', 'claim']) {
    const path = `/vaults/deposits/d1/${verb}`;
    await rejected({
      method: 'POST',
      path,
      options: { token: bob.token },
      status: 404,
      code: 'deposit_not_found',
    });
  }
});

test('a referral code that is taken, and one that is unknown', async () => {
  const { code } = (await api.get(`/users/${bob.userId}/referral`)).json;
  const path = `/users/${ada.userId}/referral/code`;
  await rejected({
    method: 'PUT',
    path,
    body: { code: code.toLowerCase() },
    options: asAda,
    status: 409,
    code: 'referral_code_taken',
  });
  const someone = { username: 'someone', password: PASSWORD, referralCode: 'LEADS-NOWHERE' };
  await rejected({
    method: 'POST',
    path: '/auth/register',
    body: someone,
    status: 400,
    code: 'invalid_request',
    field: 'referralCode',
  });
});

test('a shortage states the required and the available amount, in exact decimals', async () => {
  const { available } = (await api.get(`/users/${ada.userId}/balance`, ada.token)).json;
  const money = await api.post(buy, { outcome: 'UP', amount: 9_999.999999 }, ada.token);
  // The fee on 9,999.999999 is 50 dollars, rounded up to a micro-dollar.
  expect(money.json.error.details).toEqual({ required: 10_049.999999, available });
  expect(money.json.error.message).toContain('$10049.999999');
  const shares = await api.post(sell, { outcome: 'UP', shares: 10.001 }, ada.token);
  expect(shares.json.error.details).toEqual({ required: 10.001, available: 10 });
});

test('a refused FOK order says how much was there, and no other order does', async () => {
  const fok = { outcome: 'UP', timeInForce: 'FOK' };
  const ask = (body: object) => api.post(buy, body, ada.token);
  const { json: book } = await api.get(`/markets/15m/${ACTIVE}/orderbook?depth=999`);
  const others = book.UP.asks as { price: number; shares: number }[];
  const at = (limit: number) => others.filter(({ price }) => price <= limit);
  const sharesOf = (levels: typeof others) => levels.reduce((sum, { shares }) => sum + shares, 0);
  const limit = others[0]!.price;
  const wanted = sharesOf(at(limit)) + 1;
  const limited = await ask({ ...fok, shares: wanted, price: limit });
  expect(codeOf(limited)).toBe('409 price_not_met');
  expect(limited.json.error.details).toEqual({
    availableShares: wanted - 1,
    availableValue: (wanted - 1) * limit,
  });
  expect(limited.json.error.message).toContain(`${wanted - 1} shares could be filled`);
  const nothing = await ask({ outcome: 'UP', amount: 5, price: 0.001 });
  expect(codeOf(nothing)).toBe('409 insufficient_liquidity');
  expect(nothing.json.error.details).toEqual({ availableShares: 0, availableValue: 0 });
  const anyPrice = await ask({ ...fok, amount: 9_000 });
  expect(codeOf(anyPrice)).toBe('409 insufficient_liquidity');
  expect(anyPrice.json.error.details.availableShares).toBe(sharesOf(others));
});

test('a quote of an empty side fills nothing, as the order', async () => {
  const quote = `/markets/15m/${ACTIVE}/quote?outcome=UP&amount=5&price=0.001`;
  const { status, json } = await api.get(quote);
  expect([status, json.filled, json.shares, json.spent, json.fee]).toEqual([200, 0, 0, 0, 0]);
  expect([json.unspent, json.averagePrice, json.worstPrice]).toEqual([5, null, null]);
});

test('every missing field is named, also those that depend on others', async () => {
  const required = 'is required';
  const size = 'is required, unless you give shares and a price';
  const cases: [string, object, Record<string, string>][] = [
    [buy, {}, { outcome: required, amount: size }],
    [buy, { postOnly: 1, shares: 2 }, { price: 'is required with shares' }],
    [buy, { amount: 1, timeInForce: 'GTC' }, { price: 'is required with timeInForce GTC' }],
    [sell, { timeInForce: 'GTC' }, { shares: required, price: 'is required with timeInForce GTC' }],
    ['/batch', {}, { operations: required }],
    [
      '/batch',
      { operations: [{ op: 'buy', outcome: 'UP' }] },
      { 'operations.0.marketId': required, 'operations.0.amount': size },
    ],
    [
      '/batch',
      { operations: [{ op: 'sell', outcome: 'UP' }] },
      { 'operations.0.marketId': required, 'operations.0.shares': required },
    ],
    [
      '/batch',
      { operations: [{ op: 'cancel' }] },
      {
        'operations.0.marketId': required,
        'operations.0.orderId': 'is required (or clientOrderId)',
      },
    ],
    ['/batch', { operations: [{}] }, { 'operations.0.marketId': required }],
    ['/auth/register', {}, { username: required, password: required }],
    ['/vaults/flex/stake', {}, { amount: required }],
  ];
  for (const [path, body, missing] of cases) {
    const { status, json } = await api.post(path, body, ada.token);
    expect([status, json.error.code], path).toEqual([400, 'invalid_request']);
    expect(json.error.details, path).toMatchObject(missing);
  }
  const quote = await api.get(`/markets/15m/${ACTIVE}/quote`);
  expect(Object.keys(quote.json.error.details).sort()).toEqual(['amount', 'outcome']);
  const sale = await api.get(`/markets/15m/${ACTIVE}/quote?side=SELL`);
  expect(Object.keys(sale.json.error.details).sort()).toEqual(['outcome', 'shares']);
});

/** A body without the field, and values of the field that are refused. */
const FIELDS: [Verb, path: string, body: object, field: string, values: unknown[]][] = [
  ['POST', buy, { outcome: 'UP', amount: 1 }, 'userId', [1, null]],
  // Worth more than an order may be.
  ['POST', buy, { outcome: 'UP', price: 0.5 }, 'shares', [10_000_000]],
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
const fieldCases = FIELDS.flatMap(([method, path, body, field, values]) =>
  values.map((value) => [method, path, { ...body, [field]: value }, field] as const),
);

test.each(fieldCases)('%s %s %j: %s', async (method, path, body, field) => {
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

/** A route with a body: a valid body, and its required fields. */
type Taker = [Method, path: string, body: object, required: string[], options?: RequestOptions];
type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const orders = `/markets/15m/${ACTIVE}/orders`;
const nobody = {};
const transfer = { userId: 'u1', amount: 1, reference: 'r' };
const passwords = { currentPassword: PASSWORD, newPassword: 'something new' };

/** Bodies, one per reader: an order, a body that only the schemas read, and a partner's. */
const TAKERS: Taker[] = [
  ['POST', buy, { outcome: 'UP', amount: 1 }, ['outcome', 'amount']],
  ['DELETE', orders, {}, []],
  ['POST', '/batch', { operations: [{ op: 'claim', marketId: ACTIVE }] }, ['operations']],
  ['PUT', '/auth/password', passwords, Object.keys(passwords)],
  ['POST', '/auth/logout', {}, [], nobody],
  ['POST', '/partner/deposits', transfer, Object.keys(transfer), asPartner],
];

describe.each(TAKERS)(
  'the body of %s %s',
  (method, path, body, required, options: RequestOptions = asAda) => {
    const raw = (raw: string | Buffer, headers: Record<string, string> = {}) => {
      const given = { ...options, raw, headers: { ...options.headers, ...headers } };
      return { method, path, options: given };
    };

    test.each(required)('without %s', async (name) => {
      await invalid({ ...raw(JSON.stringify({ ...body, [name]: undefined })), field: name });
    });

    test.each(['amonut', 'Amount', 'token', '__proto__', 'constructor'])(
      'with the unknown field %s',
      async (name) => {
        const comma = Object.keys(body).length === 0 ? '' : ',';
        const text = JSON.stringify(body).replace(/}$/, `${comma}"${name}":1}`);
        await invalid({ ...raw(text), field: name });
      },
    );

    test.each(['[]', '"text"', '5', 'null', 'true'])('%s in place of an object', async (text) => {
      await invalid({ ...raw(text), field: 'body' });
    });

    test.each([
      '{',
      '{"outcome":}',
      "{'outcome':'UP'}",
      '{} {}',
      '\ufeff{}',
      ' ',
      'outcome=UP&amount=1',
      Buffer.from('{"outcome":"\xc3\x28"}', 'latin1'),
    ])('%j, which is not JSON in UTF-8', async (text) => {
      await refused({ ...raw(text), status: 400, code: 'invalid_json' });
    });

    test.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'application/jsonp',
      '',
    ])('as %j', async (type) => {
      const request = raw(JSON.stringify(body), { 'content-type': type });
      await refused({ ...request, status: 415, code: 'unsupported_media_type' });
    });

    test('of 64 KiB is read, and of more is refused', async () => {
      const empty = JSON.stringify({ ...body, padding: '' }).length;
      const padded = (length: number) =>
        raw(JSON.stringify({ ...body, padding: 'x'.repeat(length - empty) }));
      await invalid({ ...padded(65_536), field: 'padding' });
      await refused({ ...padded(65_537), status: 413, code: 'body_too_large' });
    });

    test('with a query parameter that is not known', async () => {
      const request = raw(JSON.stringify(body));
      await invalid({
        ...request,
        path: `${path}${path.includes('?') ? '&' : '?'}dryRun=1`,
        field: 'dryRun',
      });
    });
  },
);

const deep = (inside: string, times: number, [open, close]: [string, string]) =>
  `${open.repeat(times)}${inside}${close.repeat(times)}`;
test.each<[string, string | Buffer, number]>([
  ['60,000 nested arrays', deep('', 30_000, ['[', ']']), 400],
  ['an amount 30,000 arrays deep', `{"amount":${deep('', 30_000, ['[', ']'])}}`, 400],
  ['60,000 opening brackets', '['.repeat(60_000), 400],
  ['10,000 nested objects', deep('1', 10_000, ['{"a":', '}']), 400],
  ['6,000 keys', `{${Array.from({ length: 6_000 }, (_, i) => `"k${i}":1`).join(',')}}`, 400],
  ['half a surrogate', '{"amount":1,"userId":"\\ud800"}', 403],
  ['NUL', '{"amount":1}\0', 400],
  ['two documents', '{"amount":1}{"amount":2}', 400],
  ['a comment', '{"amount":1/**/}', 400],
])('a body of %s', async (_what, raw, status) => {
  const options = { ...asAda, raw };
  const before = await server.state();
  const answer = await api.send('POST', '/vaults/flex/stake', undefined, options);
  expect(answer.status).toBe(status);
  expect(await server.state()).toEqual(before);
});

/** Bodies by route that are valid except for the number. */
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
