/**
 * Idempotency keys over HTTP, on every operation of the contract that changes something. The same
 * user, key and body gets the first answer again, byte for byte, whether success or refusal, and
 * nothing is executed twice. A new operation fails here until it has cases.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { refusalAnswer } from '../../../gateway/commands/errors.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { RawConnection, requestText } from '../../support/raw-connection.js';
import {
  type Answer,
  codeOf,
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  PASSWORD,
  type RequestOptions,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';
import { operationsOf, programContract } from '../contract/check.js';
import { KEY_CASES } from '../http/smuggling-cases.js';

const NEXT_MARKET = 'btc-15m-1763701200';

type Change = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Names of the parameters of every operation that changes something. */
const CHANGES = new Map(
  operationsOf(programContract().document)
    .filter(({ method }) => method !== 'get')
    .map(({ path, method, operation }) => [
      `${method.toUpperCase()} ${path}`,
      (operation.parameters ?? []).map(({ name }) => name),
    ]),
);
const KEYED = [...CHANGES]
  .filter(([, names]) => names.includes('Idempotency-Key'))
  .map(([name]) => name);

/** Routes of batch operations, whose refusals and successes are in conformance/. */
const OPERATIONS = [
  ...ROUTES.filter(({ command }) => command !== undefined).map(
    ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
  ),
  'DELETE /markets/15m/{marketId}/orders/by-client-id',
  'PATCH /markets/15m/{marketId}/orders/by-client-id',
  'DELETE /users/{id}/orders',
];

let count = 0;

let server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
let api = server.api;
const ada = await server.register('ada');
const bob = await server.register('bob');
afterAll(() => server.stop());

/** Uses an operation twice, with another one between. The second use must change nothing. */
async function twice(
  method: Change,
  path: string,
  body: object | undefined,
  trader: Trader,
): Promise<Answer> {
  const options: RequestOptions = {
    token: trader.token,
    headers: { 'idempotency-key': `key-${++count}` },
  };
  const first = await api.send(method, path, body, options);
  expect(first.headers['idempotency-replayed'], first.text).toBe(undefined);
  // The balance has changed, and so would the refusal's details.
  expect((await api.post('/vaults/flex/stake', { amount: 1 }, trader.token)).status).toBe(201);
  const before = await server.shown([ada, bob]);
  for (const isKept of [true, false]) {
    if (!isKept) {
      await server.followed();
      server.dropResults();
    }
    const again = await api.send(method, path, body, options);
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect(again.headers['content-type']).toBe(first.headers['content-type']);
    expect(again.headers['idempotency-replayed']).toBe('true');
  }
  const reused = await api.send('POST', '/vaults/flex/stake', { amount: 1.5 }, options);
  expect(codeOf(reused)).toBe('422 idempotency_key_reused');
  expect(await server.shown([ada, bob])).toEqual(before);
  return first;
}

test('every operation that changes something takes a key, except signing in, tokens and partner transfers, which have references', () => {
  const others = [...CHANGES.keys()].filter((name) => !KEYED.includes(name));
  expect(others.sort()).toEqual([
    'DELETE /auth/tokens/{tokenId}',
    'POST /auth/login',
    'POST /auth/logout',
    'POST /auth/recovery',
    'POST /auth/register',
    'POST /auth/tokens',
    'POST /partner/deposits',
    'POST /partner/withdrawals',
    'POST /users/{id}/sub-accounts/{subAccountId}/tokens',
    'PUT /auth/password',
  ]);
});

/** Ada's request, and the code of its refusal. */
type Refusal = [path: string, body: object | undefined, code: string];

const on = (market: string, rest: string) => `/markets/15m/${market}/${rest}`;
const REFUSALS: Record<string, Refusal[]> = {
  'PUT /users/{id}/referral/code': [
    // Bob's code in another case.
    ['/users/u1/referral/code', { code: 'q000002' }, 'referral_code_taken'],
  ],
  'POST /users/{id}/order-groups/{groupId}/reset': [
    ['/users/u1/order-groups/nonsense/reset', undefined, 'order_group_not_found'],
    ['/users/u1/order-groups/g99/reset', undefined, 'order_group_not_found'],
  ],
  'DELETE /users/{id}/order-groups/{groupId}': [
    ['/users/u1/order-groups/nonsense', undefined, 'order_group_not_found'],
    ['/users/u1/order-groups/g99', undefined, 'order_group_not_found'],
  ],
  // No state refuses these requests, or only one that is slow to reach.
  'POST /users/{id}/order-groups': [],
  'PUT /users/{id}/cancel-after': [],
  'PUT /users/{id}/privacy': [],
  'PUT /users/{id}/auto-claim': [],
  'POST /users/{id}/start-again': [['/users/u1/start-again', undefined, 'too_much_to_start_again']],
  'POST /users/{id}/sub-accounts': [
    ['/users/u1/sub-accounts', { username: 'BOB' }, 'username_taken'],
  ],
  'POST /users/{id}/transfers': [
    ['/users/u1/transfers', { from: 'u1', to: 'u2', amount: 1 }, 'user_not_found'],
  ],
  'POST /vaults/flex/stake': [['/vaults/flex/stake', { amount: 900_000 }, 'insufficient_balance']],
  'POST /vaults/deposits/{depositId}/unstake': [
    ['/vaults/deposits/nonsense/unstake', undefined, 'deposit_not_found'],
    ['/vaults/deposits/d99999/unstake', undefined, 'deposit_not_found'],
  ],
  'POST /vaults/deposits/{depositId}/claim': [
    ['/vaults/deposits/nonsense/claim', undefined, 'deposit_not_found'],
    ['/vaults/deposits/d99999/claim', undefined, 'deposit_not_found'],
  ],
};

describe('a refusal is repeated byte for byte, and uses up the key', () => {
  test('every operation that takes a key has cases', () => {
    expect([...Object.keys(REFUSALS), ...OPERATIONS].sort()).toEqual([...KEYED].sort());
  });

  const cases = Object.entries(REFUSALS).flatMap(([name, refusals]) =>
    refusals.map(([path, body, code]) => [name, code, path, body] as const),
  );
  test.each(cases)('%s: %s', async (name, code, path, body) => {
    const [method] = name.split(' ') as [Change];
    const { json } = await twice(method, path, body, ada);
    expect(json.error.code).toBe(code);
  });
});

test.each(KEYED)('an invalid key is refused on %s', async (name) => {
  const [method, template] = name.split(' ') as [Change, string];
  const path = template
    .replace('{marketId}', MARKET)
    .replace('{id}', ada.userId)
    .replace(/\{\w+\}/, 'o1');
  const before = await server.state();
  // An empty key counts as invalid, because a client with an unset variable would rely on it.
  for (const key of ['', ' ', 'a b', 'x'.repeat(65), 'ä', 'a,b', 'a/b']) {
    const { status, json } = await api.send(
      method,
      path,
      {},
      { token: ada.token, headers: { 'idempotency-key': key } },
    );
    expect([status, json.error.code]).toEqual([400, 'invalid_request']);
    expect(Object.keys(json.error.details)).toEqual(['Idempotency-Key']);
  }
  expect(await server.state()).toEqual(before);
});

test('a key for which there is no room is 429, with the time after which there may be', () => {
  const full = {
    code: 'idempotency_full',
    required: 1_500,
    available: 0,
    operation: null,
  } as const;
  const { error, retryAfter } = refusalAnswer(full);
  expect([error.status, retryAfter]).toEqual([429, '2']);
  expect(JSON.parse(error.text).error).toMatchObject({
    code: 'idempotency_full',
    details: { retryAfterMs: 1_500 },
  });
});

test('a key in quotes is kept completely, and equals the key without quotes', async () => {
  const stake = async (key: string) => {
    const client = new RawConnection(api.url);
    const body = '{"amount":1}';
    const headers = { 'x-user-token': ada.token, 'idempotency-key': key };
    await client.send(
      Buffer.from(requestText('POST', '/vaults/flex/stake', headers, body), 'latin1'),
    );
    const [answer] = await client.answers(1);
    client.leave();
    return answer!;
  };
  const first = await stake('"quoted-1"');
  expect(first.status).toBe(201);
  const before = await server.state();
  for (const key of ['quoted-1', '"quoted-1"']) {
    const again = await stake(key);
    expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([
      201,
      first.text,
      'true',
    ]);
  }
  const replayed = await server.state();
  expect(replayed.sequence).toBe(before.sequence + 2);
  for (const key of [
    '"quoted-1\xe2\x82\xac"',
    '"\xe9quoted-1"',
    '"quoted-1',
    'quoted-1"',
    '""',
    '"a""b"',
    '"a b"',
  ]) {
    const { status, text } = await stake(key);
    expect([status, JSON.parse(text).error.code], key).toEqual([400, 'invalid_request']);
  }
  expect(await server.state()).toEqual(replayed);
});

/**
 * Where uWebSockets.js drops bytes, only a proxy can refuse the key. This fails when an upgrade
 * fixes that; the documents must then change.
 */
test.each(KEY_CASES)('$name: $expected', async ({ key, expected }) => {
  const client = new RawConnection(api.url);
  const headers = { 'x-user-token': bob.token, 'idempotency-key': key };
  await client.send(
    Buffer.from(requestText('POST', '/vaults/flex/stake', headers, '{"amount":1}'), 'latin1'),
  );
  const [first] = await client.answers(1);
  client.leave();
  expect(first!.status).toBe(expected === 'refused' ? 400 : 201);
  if (expected === 'refused') return;
  const options = { token: bob.token, headers: { 'idempotency-key': '1' } };
  const again = await api.send('POST', '/vaults/flex/stake', { amount: 1 }, options);
  expect([again.text, again.headers['idempotency-replayed']]).toEqual([first!.text, 'true']);
});

test('a success is repeated byte for byte, on every operation that takes a key', async () => {
  const tried = new Set<string>();
  const done = async (name: string, path: string, body: object | undefined, trader: Trader) => {
    const [method] = name.split(' ') as [Change];
    const first = await twice(method, path, body, trader);
    expect(first.status, first.text).toBeLessThan(300);
    tried.add(name);
    return first.json;
  };
  const rest = { timeInForce: 'GTC' };
  await api.post(on(MARKET, 'split'), { shares: 9 }, ada.token);
  const stake = await done('POST /vaults/flex/stake', '/vaults/flex/stake', { amount: 100 }, ada);
  const code = `/users/${ada.userId}/referral/code`;
  await done('PUT /users/{id}/referral/code', code, { code: 'ADA-1' }, ada);
  await done('PUT /users/{id}/privacy', `/users/${ada.userId}/privacy`, { private: true }, ada);
  await done(
    'PUT /users/{id}/auto-claim',
    `/users/${ada.userId}/auto-claim`,
    { enabled: false },
    ada,
  );
  const poor = await server.registerPoor('poor');
  const again = `/users/${poor.userId}/start-again`;
  await done('POST /users/{id}/start-again', again, {}, poor);
  const subs = `/users/${ada.userId}/sub-accounts`;
  const sub = await done('POST /users/{id}/sub-accounts', subs, { username: 'ada-sub' }, ada);
  const move = { from: ada.userId, to: sub.userId, amount: 3 };
  await done('POST /users/{id}/transfers', `/users/${ada.userId}/transfers`, move, ada);
  const timer = `/users/${ada.userId}/cancel-after`;
  await done('PUT /users/{id}/cancel-after', timer, { timeoutMs: 3_600_000 }, ada);
  const groups = `/users/${ada.userId}/order-groups`;
  const limits = { maxFilledShares: 10, windowMs: 1_000 };
  const { groupId } = await done('POST /users/{id}/order-groups', groups, limits, ada);
  const ofGroup = `/users/{id}/order-groups/{groupId}`;
  await done(`POST ${ofGroup}/reset`, `${groups}/${groupId}/reset`, {}, ada);
  await done(`DELETE ${ofGroup}`, `${groups}/${groupId}`, undefined, ada);

  // Ada's stake earns from the next quarter hour on, so that market needs fees.
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 101_000);
  await done('POST /markets/15m/{marketId}/claim', on(MARKET, 'claim'), {}, ada);
  const next = on(NEXT_MARKET, 'buy');
  await api.post(next, { outcome: 'UP', shares: 1_000, price: 0.5, ...rest }, ada.token);
  await api.post(next, { outcome: 'DOWN', amount: 500 }, bob.token);
  await server.passTime(WINDOW_START_MS + 2 * WINDOW_MS + 2_000, 102_000);
  const deposit = `/vaults/deposits/${stake.depositId}`;
  const claimed = await done(
    'POST /vaults/deposits/{depositId}/claim',
    `${deposit}/claim`,
    {},
    ada,
  );
  expect(claimed.claimed).toBeGreaterThan(0);
  await done('POST /vaults/deposits/{depositId}/unstake', `${deposit}/unstake`, {}, ada);
  // A claim is executed only once, so the table of conformance/ has none.
  expect([...new Set([...tried, ...OPERATIONS])].sort()).toEqual([...KEYED].sort());
});

describe('without a key', () => {
  test("a partner's reference repeats the first answer in the same way", async () => {
    const rich = await server.registerByPartner('rich');
    for (const path of ['/partner/deposits', '/partner/withdrawals']) {
      const body = { userId: rich.userId, amount: 2.5, reference: `wire:${path.length}` };
      const options = { headers: { authorization: `Bearer ${PARTNER_KEY}` } };
      const first = await api.send('POST', path, body, options);
      expect(first.status).toBe(200);
      expect((await api.post('/vaults/flex/stake', { amount: 1 }, ada.token)).status).toBe(201);
      const before = await server.shown([ada, bob]);
      const again = await api.send('POST', path, body, options);
      expect([again.status, again.text]).toEqual([first.status, first.text]);
      expect(await server.shown([ada, bob])).toEqual(before);
    }
  });

  test('the password and the account cannot be changed twice either: the old token is revoked, the name is taken', async () => {
    const change = { currentPassword: PASSWORD, newPassword: 'a better password' };
    const first = await api.put('/auth/password', change, bob.token);
    expect(first.status).toBe(200);
    expect((await api.put('/auth/password', change, bob.token)).json.error.code).toBe(
      'token_revoked',
    );
    const registration = { username: 'cyd', password: PASSWORD };
    expect((await api.post('/auth/register', registration)).status).toBe(201);
    expect((await api.post('/auth/register', registration)).json.error.code).toBe('username_taken');
  });
});

test('an equivalent body counts as the same, another body or user does not, also after a restart', async () => {
  const stake = (trader: Trader, raw: string) => {
    const headers = { 'idempotency-key': 'stake' };
    return api.send('POST', '/vaults/flex/stake', undefined, { token: trader.token, headers, raw });
  };
  const first = await stake(ada, '{"amount":5}');
  expect(first.status).toBe(201);
  const eve = await server.register('eve');
  expect((await stake(eve, '{"amount":6}')).headers['idempotency-replayed']).toBe(undefined);
  const isReplayed = async () => {
    const before = await server.shown([ada, eve]);
    for (const raw of [`{"userId":"${ada.userId}","amount":5}`, '{ "amount": 5.0 }']) {
      const again = await stake(ada, raw);
      expect([again.status, again.text]).toEqual([first.status, first.text]);
      expect(again.headers['idempotency-replayed']).toBe('true');
    }
    const other = await stake(ada, '{"amount":6}');
    expect(codeOf(other)).toBe('422 idempotency_key_reused');
    expect(await server.shown([ada, eve])).toEqual(before);
  };
  await isReplayed();
  await server.close();
  server = await TestServer.start(
    { partnerKeys: PARTNER_KEYS },
    server.folder,
    server.clock.nowMs(),
  );
  api = server.api;
  await isReplayed();
});
