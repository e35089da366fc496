/**
 * The exchange accepts what its request schemas accept, and refuses what they refuse. Each field of
 * each body and operation is tried with values at and beside every bound, so no documented bound
 * differs from the one in force.
 */

import { isIP } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ADDRESS_RULE,
  addressRules,
  isAllowed,
} from '../../../gateway/access/allowed-addresses.js';
import { EXAMPLES } from '../../../gateway/contract/examples.js';
import type { JsonSchema, Reference } from '../../../gateway/contract/openapi.js';
import {
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  pathOf,
  TestServer,
  type Trader,
} from '../../support/server.js';
import { operationsOf, pointer, programContract } from './check.js';
import { streamDocument } from './stream-check.js';

const contract = programContract();
const { schemas } = contract.document.components;

let server: TestServer;
let ada: Trader;
beforeAll(async () => {
  server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
  ada = await server.register('ada');
});
afterAll(() => server.stop());

/** Values at, below and above each bound of a schema, and values of other types. */
function tried(field: JsonSchema): unknown[] {
  const { minimum, maximum, minLength, maxLength, not = {}, enum: words = [] } = field;
  const bounds = [minimum, maximum, (not as JsonSchema).minimum, (not as JsonSchema).maximum];
  const numbers = bounds.flatMap((bound) =>
    bound === undefined ? [] : [bound, bound - 1, bound + 1, bound / 10, bound * 2],
  );
  const texts = [minLength, maxLength].flatMap((length) =>
    length === undefined ? [] : ['x'.repeat(length), 'x'.repeat(length + 1)],
  );
  return [0, 1, -1, 1.5, 999, 999.5, 1_000, 1e15, '', 'x', 'x'.repeat(65), 'é', '💰', null, true]
    .concat(numbers as never, texts as never, words as never)
    .concat([[], ['x'], ['10.0.0.0/8', '::1'], ['10.0.0.0/33'], ['1:2']] as never);
}

/** Fields whose values are refused by the rules, not because of the state. */
function refused(answer: { status: number; json: { error: { details: object } } }): string[] {
  return answer.status === 400 ? Object.keys(answer.json.error.details) : [];
}

const OWN = ['userId', 'op'];
/** GTC makes all limits valid. The price keeps shares times price below a million dollars. */
const LIMITS = { price: 0.001, timeInForce: 'GTC', shares: 2_000 };
const BODIES: Record<string, object> = {
  BuyBody: { outcome: 'UP', ...LIMITS },
  SellBody: { outcome: 'UP', ...LIMITS },
};

const bodies = operationsOf(contract.document).flatMap(({ path, method, operation }) => {
  const content = operation.requestBody?.content['application/json'];
  const name = (content?.schema as Reference | undefined)?.$ref.split('/').at(-1);
  if (name === undefined || name === 'BatchBody' || name === 'EmptyBody') return [];
  const route = `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`;
  return [{ route, name, base: BODIES[name] ?? (EXAMPLES[route]!.request as object) }];
});

test.each(bodies)('$route takes and refuses what $name says', async ({ route, name, base }) => {
  const [method, template] = route.split(' ') as ['POST', string];
  const named = template.endsWith('by-client-id') ? '?clientOrderId=none' : '';
  const path = pathOf({ path: template }, ada) + named;
  const headers = { authorization: `Bearer ${PARTNER_KEY}` };
  const options = template.startsWith('/partner') ? { headers } : { token: ada.token };
  const schema = pointer('components', 'schemas', name);
  for (const [field, description] of Object.entries(schemas[name]!.properties!)) {
    if (OWN.includes(field)) continue;
    for (const value of tried(description as JsonSchema)) {
      const body = { ...base, [field]: value };
      if (field === 'amount' && name === 'BuyBody') delete (body as { shares?: number }).shares;
      const problem = contract.schemaProblem(schema, body);
      const answer = await server.api.send(method, path, body, options);
      const told = refused(answer as never).some(
        (at) => at === field || at.startsWith(`${field}.`),
      );
      const isPlaces = problem === null && /decimal places/.test(answer.text);
      const isPast = field === 'expiresAtMs' && name === 'TokenBody' && answer.status === 400;
      if (!isPlaces && !isPast)
        expect([told, JSON.stringify(value)], `${field}: ${problem} ${answer.text}`).toEqual([
          problem !== null,
          JSON.stringify(value),
        ]);
    }
  }
});

test('operations of batches have the bounds of their routes', async () => {
  const operations = ['buy', 'sell', 'split', 'merge', 'amend', 'cancel'] as const;
  const bases = {
    buy: BODIES['BuyBody'],
    sell: BODIES['SellBody'],
    split: { shares: 1 },
    merge: { shares: 1 },
    amend: { orderId: 'o999', shares: 1 },
    cancel: { orderId: 'o999' },
  };
  for (const op of operations) {
    const name = `${op[0]!.toUpperCase()}${op.slice(1)}Operation`;
    for (const [field, description] of Object.entries(schemas[name]!.properties!)) {
      if ([...OWN, 'marketId', 'orderId', 'clientOrderId', 'amount'].includes(field)) continue;
      for (const value of tried(description as JsonSchema)) {
        const operation = { op, marketId: MARKET, ...bases[op], [field]: value };
        const problem = contract.schemaProblem(pointer('components', 'schemas', name), operation);
        const answer = await server.api.post('/batch', { operations: [operation] }, ada.token);
        if (problem === null && /decimal places/.test(answer.text)) continue;
        const told = refused(answer as never).includes(`operations.0.${field}`);
        expect([told, value], `${op} ${field}: ${problem} ${answer.text}`).toEqual([
          problem !== null,
          value,
        ]);
      }
    }
  }
});

test('RE2 reads every pattern: no look around, no reference back, no \\u', () => {
  const patterns: string[] = [];
  JSON.stringify([contract.document, streamDocument()], (key, value) => {
    if (key === 'pattern' && typeof value === 'string') patterns.push(value);
    return value;
  });
  expect(patterns.length).toBeGreaterThan(100);
  expect(patterns.filter((each) => /\(\?(?!:)|\\[1-9ukcpP]|\{\d{4}/.test(each))).toEqual([]);
});

test('the pattern of addresses takes what Node.js takes, with the lengths of ranges', () => {
  const hex = ['0', 'ffff', '2001', 'db8', ''];
  const parts = ['1.2.3.4', '255.0.0.256', '01.2.3.4', '1.2.3', '::', ':', ...hex];
  let count = 0;
  let seed = 7;
  const next = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let i = 0; i < 30_000; i++) {
    const groups = Array.from({ length: 1 + next(9) }, () => parts[next(parts.length)]!);
    const address = groups.join(next(3) === 0 ? '' : ':');
    const length = next(140) - 5;
    const most = isIP(address) === 4 ? 32 : 128;
    const isAddress = isIP(address) !== 0;
    if (isAddress) count++;
    expect(ADDRESS_RULE.test(address), address).toBe(isAddress);
    const isRange = isAddress && length >= 0 && length <= most;
    expect(ADDRESS_RULE.test(`${address}/${length}`), `${address}/${length}`).toBe(isRange);
  }
  expect(count).toBeGreaterThan(1_000);
  const loopback = new Uint8Array(16).fill(1, 15);
  expect(isAllowed(addressRules('10.0.0.0/8,::1'), loopback)).toBe(true);
});
