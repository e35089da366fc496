/** Every path with a user id accepts `me` for the caller's own id. */
import { afterAll, expect, test } from 'vitest';
import { EXAMPLES } from '../../../gateway/contract/examples.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { TestServer } from '../../support/server.js';

const ofUsers = ROUTES.filter(({ userParameter }) => userParameter !== undefined);

const server = await TestServer.withMarket();
const ada = await server.register('ada');
await server.register('bob');
afterAll(() => server.stop());

test('finds routes to check', () => {
  expect(ofUsers.length).toBeGreaterThan(10);
});

test.each(ofUsers)('$method $path: me is the signed-in user', async (route) => {
  const { method, path, userParameter } = route;
  const pathOf = (id: string) => path.replace(`:${userParameter}`, id).replace(':orderId', 'o1');
  const ask = (id: string, token?: string) => {
    const body = method === 'PUT' ? EXAMPLES[`PUT ${path}`]!.request : undefined;
    return server.api.send(method, pathOf(id), body, { token });
  };
  expect((await ask('me')).json.error.code).toBe('missing_token');
  const read = async (id: string) => {
    let answer = await ask(id, ada.token);
    while (answer.status === 503) answer = await ask(id, ada.token);
    const { sequence, cancelAtMs, ...rest } = answer.json;
    return { status: answer.status, rest };
  };
  expect(await read('me')).toEqual(await read(ada.userId));
});
