/** A private account shows its positions, trades and vault deposits to its user alone. */
import { afterAll, expect, test } from 'vitest';
import { TestServer } from '../../support/server.js';

const server = await TestServer.withMarket();
const ada = await server.register('ada');
const bob = await server.register('bob');
const body = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };
await server.buy(ada, { userId: ada.userId, ...body });
afterAll(() => server.stop());

const privacy = () => `/users/${ada.userId}/privacy`;
const choose = (isPrivate: unknown, token = ada.token) =>
  server.api.put(privacy(), { private: isPrivate }, token);
const HIDDEN = ['positions', 'trades', 'vaults'];
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
