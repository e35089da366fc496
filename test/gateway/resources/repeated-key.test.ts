/**
 * Duplicate keys in a JSON object: found anywhere, refused by name in every body and message,
 * without false alarms.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { colonCount, repeatedKey } from '../../../gateway/json/repeated-key.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import {
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  PASSWORD,
  pathOf,
  TestServer,
  type Trader,
} from '../../support/server.js';
import { StreamClient } from '../stream/support.js';

function found(text: string): string | null {
  return repeatedKey(JSON.parse(text), text, colonCount(Buffer.from(text)));
}

const REPEATED: [text: string, path: string][] = [
  ['{"a":1,"a":1}', 'a'],
  ['{"a":1,"b":2,"a":3}', 'a'],
  ['{"a":1,"\\u0061":2}', 'a'],
  ['{"":1,"":2}', ''],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"constructor":{},"constructor":{}}', 'constructor'],
  ['{"1":1,"1":2}', '1'],
  ['{"a":{"b":[{},{"c":1},{"c":1,"d":":","c":2}]}}', 'a.b.2.c'],
  ['[[],[{"a":1,"a":2}]]', '1.0.a'],
  ['{"a":{"a":1},"b":{"a":1,"a":2}}', 'b.a'],
  // This text has as many colons as members: a key is lost, but a string has a colon.
  ['{"a":"\\u003a","a":2}', 'a'],
  ['{"a\\"":1, "a\\"" :2}', 'a"'],
  [`${'['.repeat(100)}{"a":1,"a":2}${']'.repeat(100)}`, `${'0.'.repeat(100)}a`],
  [`{"pad":"${':'.repeat(1_000)}","x":{"é":1,"é":2}}`, 'x.é'],
];
test.each(REPEATED)('%s repeats a key', (text, path) => {
  expect(found(text)).toBe(path);
});

test.each([
  '{}',
  '[]',
  '1',
  '"a:a"',
  '{"a":"\\"a\\":1,\\"a\\":2"}',
  '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
  '{"a:b":1,"a":{"b:":":"}}',
  '{"a":[["a","a"],"a"]}',
  '{"A":1,"a":2}',
  `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
])('%s repeats none', (text) => {
  expect(found(text)).toBe(null);
});

/**
 * JSON whose objects are lists of members, so that a key can be repeated, and a plain comparison
 * that tells whether one is.
 */
type Tree =
  | { members: [string, Tree][] }
  | { items: Tree[] }
  | { leaf: string | number | boolean | null };
const tree = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.record({
      leaf: fc.oneof(
        fc.constantFrom<string | number | null>(':', '":', '{"a":1}', 'é:', 1, null),
        fc.string(),
      ),
    }),
    fc.record({ items: fc.array(tie('tree'), { maxLength: 4 }) }),
    fc.record({
      members: fc.array(
        fc.tuple(
          fc.oneof(fc.constantFrom('a', 'b', 'c', ':', '"', '__proto__', '0', 'é'), fc.string()),
          tie('tree'),
        ),
        { maxLength: 5 },
      ),
    }),
  ),
})).tree;

function textOf(node: Tree): string {
  if ('leaf' in node) return JSON.stringify(node.leaf);
  if ('items' in node) return `[${node.items.map(textOf).join(', ')}]`;
  return `{${node.members.map(([key, value]) => `${JSON.stringify(key)} : ${textOf(value)}`).join(',')}}`;
}

function repeats(node: Tree): boolean {
  if ('leaf' in node) return false;
  if ('items' in node) return node.items.some(repeats);
  const keys = node.members.map(([key]) => key);
  return new Set(keys).size < keys.length || node.members.some(([, value]) => repeats(value));
}

test('finds a duplicate key in any JSON', () => {
  let repeated = 0;
  fc.assert(
    fc.property(tree, (drawn) => {
      expect(found(textOf(drawn)) !== null).toBe(repeats(drawn));
      if (repeats(drawn)) repeated++;
    }),
    { numRuns: 5_000 },
  );
  expect(repeated).toBeGreaterThan(200);
});

describe('over the API', () => {
  let server: TestServer;
  let ada: Trader;
  let stream: StreamClient;

  beforeAll(async () => {
    server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
    ada = await server.register('ada');
    stream = await StreamClient.connect(server.exchange.port);
  });
  afterAll(async () => {
    await stream.close();
    await server.stop();
  });

  const RAW: Record<string, [raw: string, field: string]> = {
    'POST /markets/15m/:marketId/buy': ['{"outcome":"UP","amount":1,"amount":2}', 'amount'],
    'POST /markets/15m/:marketId/sell': ['{"outcome":"UP","outcome":"DOWN","shares":1}', 'outcome'],
    'POST /batch': [
      `{"operations":[{"op":"claim","marketId":"${MARKET}"},{"op":"buy","marketId":"${MARKET}","outcome":"UP","amount":1,"amount":2}]}`,
      'operations.1.amount',
    ],
    'POST /vaults/flex/stake': ['{"amount":1,"\\u0061mount":5}', 'amount'],
    'PUT /users/:id/referral/code': ['{"code":"ABC","code":"ABD"}', 'code'],
    'POST /auth/register': [
      `{"username":"bob","username":"rob","password":"${PASSWORD}"}`,
      'username',
    ],
    'POST /auth/login': [
      `{"username":"ada","password":"a:b","password":"${PASSWORD}"}`,
      'password',
    ],
    'POST /auth/recovery': [
      `{"username":"ada","code":"a:b","code":"a:c","newPassword":"${PASSWORD}1"}`,
      'code',
    ],
    'PUT /auth/password': [
      `{"currentPassword":"${PASSWORD}","newPassword":"${PASSWORD}1","newPassword":"${PASSWORD}2"}`,
      'newPassword',
    ],
    'POST /partner/deposits': ['{"userId":"u1","amount":1,"amount":9,"reference":"a:b"}', 'amount'],
    'POST /partner/withdrawals': [
      '{"userId":"u1","userId":"u1","amount":1,"reference":"r"}',
      'userId',
    ],
  };

  test.each(
    ROUTES.filter((route) => route.body !== undefined).map(
      (route) => [`${route.method} ${route.path}`, route] as const,
    ),
  )('%s refuses a duplicate key', async (name, route) => {
    const before = await server.state();
    const [raw, field] = RAW[name] ?? ['{"userId":"u1","userId":"u1"}', 'userId'];
    const path = pathOf(route, ada);
    const headers = route.access === 'partner' ? { authorization: `Bearer ${PARTNER_KEY}` } : {};
    const token = route.access === 'session' ? ada.token : undefined;
    const { status, json } = await server.api.send(route.method, path, undefined, {
      raw,
      token,
      headers,
    });
    expect([status, json.error.code, json.error.details]).toEqual([
      400,
      'invalid_request',
      { [field]: 'is duplicated' },
    ]);
    expect(await server.state()).toEqual(before);
  });

  test('a stream refuses it and continues', async () => {
    for (const [text, key] of [
      ['{"op":"ping","op":"ping"}', 'op'],
      [`{"op":"subscribe","channels":["markets"],"channels":["book:${MARKET}"]}`, 'channels'],
    ] as const) {
      expect(await stream.refusal(text)).toMatchObject({
        code: 'invalid_request',
        details: { [key]: 'is duplicated' },
      });
    }
    await stream.caughtUp();
  });
});
