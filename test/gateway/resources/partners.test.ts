/** Partners over real HTTP: whose money a partner moves, and whose balance it sees. */
import { createHash } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import {
  codeOf,
  PARTNER_KEY,
  PARTNER_KEYS,
  PASSWORD,
  TestServer,
  WINDOW_START_MS,
} from '../../support/server.js';

const asPartner = { headers: { authorization: `Bearer ${PARTNER_KEY}` } };
const OTHER = { headers: { authorization: 'Bearer key-of-another' } };
let references = 0;

const sha256 = createHash('sha256').update('key-of-another').digest();
const partnerKeys = [...PARTNER_KEYS, { holder: 'other', sha256 }];
let server = await TestServer.withMarket({ partnerKeys, houseFundsMicros: 1_000_000_000 });
let api = server.api;
const ours = await server.registerByPartner('ours');
const registration = { username: 'theirs', password: PASSWORD };
const theirs = (await api.send('POST', '/auth/register', registration, OTHER)).json;
const nobodys = await server.register('nobodys');
const house = `u${server.exchange.sequencer.engine.findUser('house')}`;

afterAll(() => server.stop());

async function move(
  kind: 'deposits' | 'withdrawals',
  userId: string,
  amount = 1,
  options = asPartner,
) {
  references++;
  const body = { userId, amount, reference: `r${references}` };
  return api.send('POST', `/partner/${kind}`, body, options);
}

test("a partner deposits for any user, and sees only its own users' balances", async () => {
  expect((await move('deposits', ours.userId)).json.balance).toEqual({
    available: 10_001,
    held: 0,
  });
  for (const userId of [theirs.userId, nobodys.userId]) {
    const { status, json } = await move('deposits', userId);
    expect([status, json.amount, json.balance]).toEqual([200, 1, null]);
  }
  expect((await api.get(`/users/${nobodys.userId}/balance`, nobodys.token)).json.available).toBe(
    10_001,
  );
});

test('a partner withdraws only from its own users, whoever made the deposits', async () => {
  expect((await move('deposits', ours.userId, 5, OTHER)).json.balance).toBe(null);
  expect((await move('withdrawals', ours.userId)).status).toBe(200);
  for (const [userId, options] of [
    [ours.userId, OTHER],
    [theirs.userId, asPartner],
    [nobodys.userId, asPartner],
    [nobodys.userId, OTHER],
  ] as const) {
    // Even above the balance, the answer is the same and reveals nothing.
    for (const amount of [1, 1_000_000]) {
      const { status, json } = await move('withdrawals', userId, amount, options);
      expect([status, json.error.code, json.error.details]).toEqual([403, 'user_mismatch', {}]);
      expect(json.error.message).toMatch(/not registered with your partner key/);
    }
  }
});

test("a partner cannot use the exchange's own accounts", async () => {
  for (const kind of ['deposits', 'withdrawals'] as const) {
    const { status, json } = await move(kind, house);
    expect([status, json.error.code]).toEqual([403, 'user_mismatch']);
    expect(json.error.message).toMatch(/belongs to the exchange/);
  }
});

test('a partner sees no balance of other users', async () => {
  const money = { currency: 'USD', available: null, held: null, total: null };
  for (const id of [theirs.userId, nobodys.userId, house]) {
    const { status, json } = await api.send('GET', `/partner/users/${id}`, undefined, asPartner);
    expect([status, json]).toMatchObject([200, { userId: id, ...money }]);
  }
  const theirView = await api.send('GET', `/partner/users/${theirs.userId}`, undefined, OTHER);
  expect(theirView.json).toMatchObject({ available: 10_001, held: 0, total: 10_001 });
});

test('an invalid key registers nobody and is refused before the body is read', async () => {
  const before = await server.state();
  for (const authorization of ['Bearer nonsense', 'Bearer', `Basic ${PARTNER_KEY}`, PARTNER_KEY]) {
    for (const body of [{ username: 'eve', password: PASSWORD }, { nothing: 'right' }]) {
      const answer = await api.send('POST', '/auth/register', body, {
        headers: { authorization },
      });
      expect(codeOf(answer)).toBe('403 partner_key_required');
      expect(answer.json.error.message).toMatch(/Omit it/);
    }
  }
  expect(await server.state()).toEqual(before);
});

test('a partner is identified by name: with a new key after a restart, its users are still its own', async () => {
  await server.close();
  const sha256 = createHash('sha256').update('a-new-key').digest();
  const { folder } = server;
  const atMs = WINDOW_START_MS + 1_000;
  server = await TestServer.start({ partnerKeys: [{ holder: 'acme', sha256 }] }, folder, atMs);
  api = server.api;
  const renewed = { headers: { authorization: 'Bearer a-new-key' } };
  expect((await move('withdrawals', ours.userId, 1, renewed)).status).toBe(200);
  expect((await move('withdrawals', ours.userId)).json.error.code).toBe('partner_key_required');
});
