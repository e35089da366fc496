/**
 * Request bodies that the gateway refuses over real HTTP, on every route that takes one. None of
 * them reaches the journal.
 */
import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { PASSWORD, type RequestOptions } from '../../support/server.js';
import { ACTIVE, asPartner, buy, ENDED, sell, withTwoTraders } from './refusals.js';

const { asAda, refused, traders } = withTwoTraders();

/** A route that takes a body, with a valid body. */
interface Taker {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
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
    path: () => `/users/${traders().ada.userId}/orders`,
    body: {},
    required: [],
    options: asAda,
  },
  {
    method: 'PATCH',
    path: () => `/markets/15m/${ACTIVE}/orders/o1`,
    body: { shares: 1 },
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
    path: () => `/users/${traders().ada.userId}/cancel-after`,
    body: { timeoutMs: 30_000 },
    required: ['timeoutMs'],
    options: asAda,
  },
  {
    method: 'POST',
    path: () => '/auth/tokens',
    body: { name: 'bot', scope: 'trade' },
    required: ['name', 'scope'],
    options: asAda,
  },
  {
    method: 'DELETE',
    path: () => '/auth/tokens/k1',
    body: {},
    required: [],
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

test('an endless body is cut off, and the server continues', async () => {
  const raw = 'x'.repeat(8 * 1024 * 1024);
  const answer = await traders()
    .api.send('POST', buy, undefined, { ...asAda(), raw })
    .catch((error: Error) => error);
  // The answer may be lost if the connection closes while the client is still sending.
  if (!(answer instanceof Error)) expect(answer.status).toBe(413);
  expect((await traders().api.get('/health')).status).toBe(200);
});
