/**
 * Request bodies that the gateway refuses over real HTTP. None of them reaches the journal. The
 * fuzz test spoils the bodies of every route.
 */
import { describe, expect, test } from 'vitest';
import { PASSWORD, type RequestOptions } from '../../support/server.js';
import { ACTIVE, asPartner, buy, withTwoTraders } from './refusals.js';

const { asAda, refused, invalid, server, api } = await withTwoTraders();

/** A route that takes a body, a valid one, and its required fields. */
type Taker = [Method, path: string, body: object, required: string[], options?: RequestOptions];
type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const orders = `/markets/15m/${ACTIVE}/orders`;
const nobody = {};
const transfer = { userId: 'u1', amount: 1, reference: 'r' };
const passwords = { currentPassword: PASSWORD, newPassword: 'something new' };

/** One for each reader: an order, a body that only the schemas read, and a partner's. */
const TAKERS: Taker[] = [
  ['POST', buy, { outcome: 'UP', amount: 1 }, ['outcome', 'amount']],
  ['DELETE', orders, {}, []],
  ['PATCH', `${orders}/by-client-id?clientOrderId=a`, { shares: 1 }, []],
  ['POST', '/batch', { operations: [{ op: 'claim', marketId: ACTIVE }] }, ['operations']],
  ['PUT', '/auth/password', passwords, Object.keys(passwords)],
  ['POST', '/auth/logout', {}, [], nobody],
  ['POST', '/partner/deposits', transfer, Object.keys(transfer), asPartner],
];

describe.each(TAKERS)(
  'the body of %s %s',
  (method, path, body, required, options: RequestOptions = asAda) => {
    const raw = (raw: string | Buffer, headers: Record<string, string> = {}) => {
      const given = { ...options, raw, headers: { ...options.headers, ...headers } };
      return { method, path, options: given };
    };

    test.each(required)('without %s', async (name) => {
      await invalid({ ...raw(JSON.stringify({ ...body, [name]: undefined })), field: name });
    });

    test.each(['amonut', 'Amount', 'token', '__proto__', 'constructor'])(
      'with the unknown field %s',
      async (name) => {
        const comma = Object.keys(body).length === 0 ? '' : ',';
        const text = JSON.stringify(body).replace(/}$/, `${comma}"${name}":1}`);
        await invalid({ ...raw(text), field: name });
      },
    );

    test.each(['[]', '"text"', '5', 'null', 'true'])('%s in place of an object', async (text) => {
      await invalid({ ...raw(text), field: 'body' });
    });

    test.each([
      '{',
      '{"outcome":}',
      "{'outcome':'UP'}",
      '{} {}',
      '\ufeff{}',
      ' ',
      'outcome=UP&amount=1',
      Buffer.from('{"outcome":"\xc3\x28"}', 'latin1'),
    ])('%j, which is not JSON in UTF-8', async (text) => {
      await refused({ ...raw(text), status: 400, code: 'invalid_json' });
    });

    test.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'application/jsonp',
      '',
    ])('as %j', async (type) => {
      const request = raw(JSON.stringify(body), { 'content-type': type });
      await refused({ ...request, status: 415, code: 'unsupported_media_type' });
    });

    test('of 64 KiB is read, and of more is refused', async () => {
      const empty = JSON.stringify({ ...body, padding: '' }).length;
      const padded = (length: number) =>
        raw(JSON.stringify({ ...body, padding: 'x'.repeat(length - empty) }));
      await invalid({ ...padded(65_536), field: 'padding' });
      await refused({ ...padded(65_537), status: 413, code: 'body_too_large' });
    });

    test('with a query parameter that is not known', async () => {
      const request = raw(JSON.stringify(body));
      await invalid({
        ...request,
        path: `${path}${path.includes('?') ? '&' : '?'}dryRun=1`,
        field: 'dryRun',
      });
    });
  },
);

const deep = (inside: string, times: number, [open, close]: [string, string]) =>
  `${open.repeat(times)}${inside}${close.repeat(times)}`;
test.each<[string, string | Buffer, number]>([
  ['60,000 nested arrays', deep('', 30_000, ['[', ']']), 400],
  ['an amount 30,000 arrays deep', `{"amount":${deep('', 30_000, ['[', ']'])}}`, 400],
  ['60,000 opening brackets', '['.repeat(60_000), 400],
  ['10,000 nested objects', deep('1', 10_000, ['{"a":', '}']), 400],
  ['6,000 keys', `{${Array.from({ length: 6_000 }, (_, i) => `"k${i}":1`).join(',')}}`, 400],
  ['half a surrogate', '{"amount":1,"userId":"\\ud800"}', 403],
  ['NUL', '{"amount":1}\0', 400],
  ['two documents', '{"amount":1}{"amount":2}', 400],
  ['a comment', '{"amount":1/**/}', 400],
])('a body of %s', async (_what, raw, status) => {
  const options = { ...asAda, raw };
  const before = await server.state();
  const answer = await api.send('POST', '/vaults/flex/stake', undefined, options);
  expect(answer.status).toBe(status);
  expect(await server.state()).toEqual(before);
});
