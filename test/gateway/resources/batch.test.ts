/** The list of a batch over real HTTP. For the answers to its operations, see conformance/. */
import { afterAll, expect, test } from 'vitest';
import { MARKET, TestServer } from '../../support/server.js';

const server = await TestServer.withMarket();
const ada = await server.register('ada');
const bob = await server.register('bob');
afterAll(() => server.stop());

const batch = (body: object) => server.api.post('/batch', body, ada.token);
const good = { op: 'buy', marketId: MARKET, outcome: 'UP', amount: 1 };

test.each([
  ['no operation', [], 'operations'],
  ['101 operations', Array.from({ length: 101 }, () => good), 'operations'],
  ['no list', good, 'operations'],
  ['an unknown op', [good, { ...good, op: 'hold' }], 'operations.1.op'],
  ['no op', [{ marketId: MARKET, outcome: 'UP', amount: 1 }], 'operations.0.op'],
  ['an operation that is not an object', [good, 5], 'operations.1'],
  ['a field of another op', [{ ...good, orderId: 'o1' }], 'operations.0.orderId'],
])('a list with %s is refused', async (_name, operations, field) => {
  const before = await server.state();
  const { status, json } = await batch({ operations });
  expect([status, json.error.code]).toEqual([400, 'invalid_request']);
  expect(Object.keys(json.error.details)).toContain(field);
  expect(json.error.message).toContain(field);
  expect(await server.state()).toEqual(before);
});

const OPS = 'must be buy or sell or cancel or amend or cancelAll or claim or split or merge.';
test.each([
  [{ operations: [{ ...good, op: 'hold' }] }, `operations.0.op ${OPS}`],
  [{ operations: [{ marketId: MARKET }] }, `operations.0.op ${OPS}`],
  [{ operations: good }, 'operations must be an array.'],
  [{ operations: [good], atomic: 1 }, 'atomic must be a boolean.'],
])('%j, in words', async (body, words) => {
  const { json } = await batch(body);
  expect(json.error.message).toBe(`The request is not valid: ${words}`);
});

test('that an operation is for another user is checked before the rest of the body', async () => {
  const operations = [
    { ...good, amount: -1 },
    { ...good, userId: bob.userId },
  ];
  const { status, json } = await batch({ operations });
  expect([status, json.error.code]).toEqual([403, 'user_mismatch']);
});

test('a refused atomic batch names the operation', async () => {
  const operations = [good, { op: 'sell', marketId: MARKET, outcome: 'DOWN', shares: 1_000 }];
  await batch({ operations: [{ op: 'split', marketId: MARKET, shares: 9 }] });
  const resting = { outcome: 'DOWN', shares: 9, price: 0.5, timeInForce: 'GTC' };
  await server.buy(bob, resting);
  const { status, json } = await batch({ operations, atomic: true });
  expect(status).toBe(422);
  expect(json.error).toEqual({
    code: 'insufficient_shares',
    message:
      'The batch was not executed because operation 1 failed. This requires 1000 shares, but 9 are available.',
    details: { operation: 1, required: 1_000, available: 9 },
  });
});

test('100 operations are accepted', async () => {
  const operations = Array.from({ length: 100 }, (_, i) => ({
    ...{ op: 'buy', marketId: MARKET, outcome: 'UP', shares: 0.001, timeInForce: 'GTC' },
    price: (i + 1) / 1_000,
  }));
  const { status, json } = await batch({ operations, atomic: true });
  expect(status).toBe(200);
  expect(json.results).toHaveLength(100);
});
