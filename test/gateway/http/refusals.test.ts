/**
 * Refusals of the gateway over real HTTP: unknown ids, routes and methods; things that already
 * exist; and the order of the checks. None of them reaches the journal.
 */
import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../../gateway/commands/errors.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { codeOf, PASSWORD, type Verb } from '../../support/server.js';
import { ACTIVE, asPartner, ENDED, withTwoTraders } from './refusals.js';

const { asAda, refused, server, api, ada, bob } = await withTwoTraders();

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
    // "/markets/15m" also matches a market's path with the id "15m", and so on; the router takes
    // the closest match.
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
    [404, 'market_not_found', { path, body: { outcome: 'UP', amount: 1 }, options: asAda }],
    [401, 'missing_token', { path, options: tooLarge }],
    [403, 'partner_key_required', { path: '/partner/deposits', options: tooLarge }],
  ] as const)
    await refused({ method: 'POST', ...request, status, code });
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
