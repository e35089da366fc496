/**
 * What the gateway refuses over real HTTP: unknown ids, routes and methods, and what already
 * exists; and the order of the checks. None of it reaches the journal.
 */
import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { PASSWORD, type Verb } from '../../support/server.js';
import { ACTIVE, asPartner, ENDED, withTwoTraders } from './refusals.js';

const { asAda, refused, traders } = withTwoTraders();

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
