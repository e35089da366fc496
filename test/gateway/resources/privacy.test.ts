/** A private account shows only its name and creation date to other users. */
import { afterAll, describe, expect, test } from 'vitest';
import { MARKET, TestServer, WINDOW_START_MS } from '../../support/server.js';

const server = await TestServer.withMarket();
const ada = await server.register('ada');
const bob = await server.register('bob');
const body = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };
await server.buy(ada, { userId: ada.userId, ...body });
afterAll(() => server.stop());

const privacy = () => `/users/${ada.userId}/privacy`;
const choose = (isPrivate: unknown, token = ada.token) =>
  server.api.put(privacy(), { private: isPrivate }, token);
const HIDDEN = ['positions', 'trades', 'vaults', 'referral'];
const hidden = () => HIDDEN.map((list) => `/users/${ada.userId}/${list}`);

test('is public at first, then private, then public again', async () => {
  const get = async (path: string, token?: string) => {
    const { status, json } = await server.api.read(path, token);
    return [status, json.error?.code];
  };
  expect((await server.api.get(privacy(), ada.token)).json.private).toBe(false);
  for (const path of hidden()) expect(await get(path)).toEqual([200, undefined]);

  const { status, json } = await choose(true);
  expect([status, json.private]).toEqual([200, true]);
  expect((await server.api.get(privacy(), ada.token)).json.private).toBe(true);
  for (const path of hidden()) {
    expect(await get(path)).toEqual([401, 'missing_token']);
    expect(await get(path, bob.token)).toEqual([403, 'user_mismatch']);
    expect(await get(path, ada.token)).toEqual([200, undefined]);
  }
  expect(await get(`/users/${ada.userId}`)).toEqual([200, undefined]);
  expect(await get(`/users/${bob.userId}/trades`)).toEqual([200, undefined]);

  await choose(false);
  for (const path of hidden()) expect(await get(path)).toEqual([200, undefined]);
});

test('is the choice of its user', async () => {
  expect((await choose(true, bob.token)).json.error.code).toBe('user_mismatch');
  expect((await server.api.put(privacy(), { private: true })).json.error.code).toBe(
    'missing_token',
  );
  for (const value of [undefined, null, 'true', 1])
    expect((await choose(value)).json.error).toMatchObject({
      code: 'invalid_request',
      details: { private: expect.any(String) },
    });
  expect((await server.api.get(privacy(), ada.token)).json.private).toBe(false);
});

describe('what it has traded', () => {
  const DAY_MS = 86_400_000;
  const profile = async (token?: string) =>
    (await server.api.read(`/users/${ada.userId}`, token)).json;
  const figures = ({ volume, realizedProfit, trades, rank }: Record<string, unknown>) => [
    volume,
    realizedProfit,
    trades,
    rank,
  ];
  const listed = async (period: string) => {
    const path = `/leaderboard?metric=volume&period=${period}`;
    const { entries } = (await server.api.read(path)).json;
    return entries.flatMap(({ userId, value }: { userId: string; value: number }) =>
      userId === ada.userId ? [value] : [],
    );
  };
  const boards = async () => {
    await server.followed();
    return [await listed('all'), await listed('week'), await listed('day')];
  };
  const takes = async (shares: number, market = MARKET) => {
    const rests = { outcome: 'UP', shares, price: 0.4, timeInForce: 'GTC' };
    await server.buy(bob, { userId: bob.userId, ...rests }, market);
    const taken = { outcome: 'DOWN', shares, price: 0.6, timeInForce: 'IOC' };
    const { json } = await server.buy(ada, { userId: ada.userId, ...taken }, market);
    expect(json.status).toBe('filled');
  };
  const setPrivacy = (body: object) => server.api.put(privacy(), body, ada.token);

  test('is in its profile for its user alone, and on no board', async () => {
    await server.api.delete(`/users/${ada.userId}/orders`, ada.token);
    await takes(10);
    expect(await boards()).toEqual([[6], [6], [6]]);
    expect(figures(await profile())).toEqual([6, expect.any(Number), 1, expect.any(Number)]);
    await setPrivacy({ private: true });
    expect(await boards()).toEqual([[], [], []]);
    const { userId, username } = ada;
    const createdAtMs = WINDOW_START_MS;
    expect(await profile()).toMatchObject({ userId, username, createdAtMs });
    expect(figures(await profile())).toEqual([null, null, null, null]);
    expect(figures(await profile(ada.token))).toEqual([6, expect.any(Number), 1, null]);
  });

  test('is on boards with the figures of the last full day where its user wants that', async () => {
    const { json } = await setPrivacy({ private: true, listed: true });
    expect(json).toMatchObject({ private: true, listed: true });
    expect((await server.api.get(privacy(), ada.token)).json).toMatchObject(json);
    expect(await boards()).toEqual([[], [], []]);
    await server.passTime(WINDOW_START_MS + DAY_MS, 100_000);
    expect(await boards()).toEqual([[6], [6], []]);
    await takes(20, `btc-15m-${(WINDOW_START_MS + DAY_MS) / 1_000}`);
    expect(await boards()).toEqual([[6], [6], []]);
    expect(figures(await profile())).toEqual([null, null, null, null]);
    await setPrivacy({ private: false });
    expect(await boards()).toEqual([[18], [18], [12]]);
  });
});
