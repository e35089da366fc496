/**
 * The AsyncAPI document: valid by the AsyncAPI Initiative's schema, complete, and readable without
 * other requests. The stream's tests check every message they receive against it.
 */
import specs from '@asyncapi/specs';
import { Ajv } from 'ajv';
import { request } from 'undici';
import { afterAll, expect, test } from 'vitest';
import type { AsyncApiDocument } from '../../../gateway/contract/stream/document.js';
import { CHANNEL_NAMES } from '../../../gateway/stream/channels/names.js';
import { CLIENT_MESSAGES } from '../../../gateway/stream/client-messages.js';
import { CLOSE, STREAM_LIMITS } from '../../../gateway/stream/limits.js';
import { SERVER_MESSAGES } from '../../../gateway/stream/server-messages.js';
import { MARKET, TestServer } from '../../support/server.js';
import { checkStreamMessage, namesOfMessage, streamDocument } from './stream-check.js';

const server = await TestServer.start();
const document: AsyncApiDocument = JSON.parse((await fetched('/api/asyncapi.json')).text);
afterAll(() => server.stop());

async function fetched(path: string) {
  const { statusCode, headers, body } = await request(`${server.api.url}${path}`);
  return { status: statusCode, headers, text: await body.text() };
}

test('the served document is the one that messages are checked against', () => {
  expect(document).toEqual(JSON.parse(JSON.stringify(streamDocument())));
});

test('is AsyncAPI 3.0, by the schema of the AsyncAPI Initiative', () => {
  // The Initiative's own parser also checks addresses, and refuses paths.
  const formats = { uri: (text: string) => URL.canParse(text) };
  const ajv = new Ajv({ strict: false, formats, logger: false, unicodeRegExp: false });
  const schema = specs.schemasWithoutId['3.0.0'] as object;
  const validate = ajv.compile(schema);
  validate(document);
  expect(validate.errors ?? []).toEqual([]);
  expect(validate({ ...document, channels: { stream: { address: 7 } } })).toBe(false);
  const externalDocs = { url: '/api/docs' };
  expect(validate({ ...document, info: { ...document.info, externalDocs } })).toBe(false);
});

test('describes every message of either side, every field, every close code and limit', () => {
  const { components, channels, operations } = document;
  const names = [...Object.keys(CLIENT_MESSAGES), ...Object.keys(SERVER_MESSAGES)].sort();
  expect(Object.keys(components.messages).sort()).toEqual(names);
  expect(Object.keys(channels.stream.messages).sort()).toEqual(names);
  const used = Object.values(operations).flatMap(({ messages, reply }) => [
    ...messages,
    ...(reply?.messages ?? []),
  ]);
  expect([...new Set(used.map(({ $ref }) => $ref.split('/').at(-1)!))].sort()).toEqual(names);
  for (const { name, summary } of Object.values(components.messages))
    expect(summary.length, name).toBeGreaterThan(8);
  expect(undescribed(document)).toEqual([]);
  const codes = channels.stream['x-close-codes'].map(({ code }) => code);
  expect(codes).toEqual([...Object.values(CLOSE).map(({ code }) => code), 1006]);
  const { connections: _, ...ofOne } = STREAM_LIMITS;
  expect(channels.stream['x-limits']).toEqual(ofOne);
});

/** Returns fields without a description, constant or reference. */
function undescribed({ components }: AsyncApiDocument): string[] {
  const found: string[] = [];
  const visit = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const { properties } = node as { properties?: Record<string, object> };
    for (const [name, field] of Object.entries(properties ?? {})) {
      // An empty schema only names a field, in a rule across fields.
      const isRule = Object.keys(field).length === 0 || path.endsWith('.not');
      if (!isRule && !['description', 'const', '$ref'].some((key) => key in field))
        found.push(`${path}.${name}`);
    }
    for (const [key, value] of Object.entries(node)) visit(value, `${path}.${key}`);
  };
  for (const [name, schema] of Object.entries(components.schemas)) visit(schema, name);
  return found;
}

test('references lead somewhere', () => {
  const text = JSON.stringify(document);
  for (const [, pointer] of text.matchAll(/"\$ref":"#([^"]+)"/g)) {
    const target = pointer!
      .split('/')
      .slice(1)
      .reduce<unknown>(
        (node, key) => (node as Record<string, unknown> | undefined)?.[key],
        document,
      );
    expect(target, pointer).toBeDefined();
  }
});

test('tells messages apart and refuses others', () => {
  const rest = { op: 'buy', marketId: MARKET, outcome: 'UP', shares: 10, price: 0.009 };
  const valid: [string, object][] = [
    ['auth', { op: 'auth', token: 'x', cancelOnDisconnect: true }],
    ['subscribe', { op: 'subscribe', id: '1', channels: ['markets'] }],
    ['unsubscribe', { op: 'unsubscribe', channels: ['markets'] }],
    ['resume', { op: 'resume', channel: 'markets', after: 7 }],
    ['ping', { op: 'ping' }],
    ['order', { op: 'order', id: '1', operation: rest }],
    ['batch', { op: 'batch', id: '1', operations: [rest], atomic: true, idempotencyKey: 'k' }],
    ['heartbeat', { type: 'heartbeat', sequence: 1, atMs: 2, channels: { markets: 3 } }],
    ['error', { type: 'error', code: 'invalid_json', message: 'x', details: {} }],
  ];
  for (const [name, message] of valid) {
    expect(namesOfMessage(message), name).toEqual([name]);
    expect(namesOfMessage({ ...message, more: 1 }), name).toEqual([]);
  }
  expect(() => checkStreamMessage({ op: 'ping' })).toThrow('no such message');
  expect(() => checkStreamMessage({ type: 'delta' })).toThrow('no such message');
});

test('the page shows all of it and asks for nothing else', async () => {
  const { status, headers, text } = await fetched('/api/docs/stream');
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; style-src 'sha256-[^ ]+'; base-uri 'none'; form-action 'none'; frame-anc/,
  );
  expect(text).not.toMatch(/<script|<img|<link|@import|url\(|https?:\/\//);
  for (const name of Object.keys(document.components.messages))
    expect(text.match(new RegExp(`id="${name}"`, 'g')), name).toHaveLength(1);
  for (const { reason } of Object.values(CLOSE)) expect(text).toContain(reason);
  const constants = new Set<string>();
  JSON.stringify(document.components.schemas, (key, value) => {
    if (key === 'const' && typeof value === 'string') constants.add(`&quot;${value}&quot;`);
    return value;
  });
  expect(constants.size).toBeGreaterThan(45);
  // The page shows each alternative of each union, and each channel name.
  for (const each of constants) expect(text, each).toContain(`<code>${each}</code>`);
  for (const name of CHANNEL_NAMES) expect(text).toContain(name.replace('<', '&lt;'));
  for (const [, id] of text.matchAll(/href="#(\w+)"/g)) expect(text).toContain(`id="${id}"`);
  expect(text).not.toMatch(/undefined|\[object|NaN/);
});
