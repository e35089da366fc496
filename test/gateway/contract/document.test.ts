/**
 * The contract: the served document is valid OpenAPI and describes exactly the routes that exist,
 * its examples are real answers, and its page loads nothing from other sites.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import { Client, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERROR_CODES, ERRORS } from '../../../gateway/commands/errors.js';
import { EXAMPLES } from '../../../gateway/contract/examples.js';
import type { OpenApiDocument, Reference, Response } from '../../../gateway/contract/openapi.js';
import { routeName } from '../../../gateway/observe/metrics.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { TestServer } from '../../support/server.js';
import { type Contract, operationsOf, pointer, programContract, resolved } from './check.js';
import { ContractSession } from './session.js';

const server = await TestServer.withMarket();
afterAll(() => server.stop());

interface Fetched {
  status: number;
  headers: { [name: string]: string | string[] | undefined; etag?: string; allow?: string };
  text: string;
}

async function fetched(
  path: string,
  method = 'GET',
  headers: Record<string, string> = {},
): Promise<Fetched> {
  const response = await request(`${server.api.url}${path}`, { method: method as 'GET', headers });
  return {
    status: response.statusCode,
    headers: response.headers,
    text: await response.body.text(),
  };
}

describe('the document', () => {
  let document: OpenApiDocument;
  beforeAll(async () => {
    document = JSON.parse((await fetched('/api/openapi.json')).text);
  });

  test('the served document is the one that tests check answers against', () => {
    expect(document).toEqual(JSON.parse(JSON.stringify(programContract().document)));
  });

  test('is OpenAPI 3.1, by the schema of the OpenAPI Initiative', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document) as never);
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  test('describes every route, itself and the stream, and nothing else', () => {
    const told = operationsOf(document).map(
      ({ path, method }) => `${method.toUpperCase()} ${path}`,
    );
    const served = ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    expect(told.sort()).toEqual([...served, 'GET /openapi.json', 'GET /stream'].sort());
  });

  test('every operation has a unique name, a described tag and described parameters', () => {
    const operations = operationsOf(document).map(({ operation }) => operation);
    const names = operations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    const headings = document.tags.map(({ name }) => name);
    for (const { operationId, tags, parameters = [], summary } of operations) {
      expect(headings, operationId).toEqual(expect.arrayContaining(tags));
      expect(summary.length, operationId).toBeGreaterThan(3);
      for (const { description, name } of parameters)
        expect(description.length, name).toBeGreaterThan(3);
    }
  });

  test('everything has a description: operations, schemas, fields, parameters, headers', () => {
    const bare: string[] = [];
    const look = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { properties, description, $ref } = value as Record<string, unknown>;
      const isDescribed = typeof description === 'string' || $ref !== undefined;
      const container = path.split('/').at(-2);
      const isField = container === 'properties' || container === 'schemas';
      const isHeader = container === 'headers' || container === 'parameters';
      // An empty schema only names a field described elsewhere.
      const isName = Object.keys(value).length === 0;
      if ((isField || isHeader) && !isDescribed && !isName && !/\/(if|then|examples)\//.test(path))
        bare.push(path);
      if (properties !== undefined && path.includes('/examples/')) return;
      for (const [key, inner] of Object.entries(value)) look(inner, `${path}/${key}`);
    };
    look(document.components.schemas, '/schemas');
    look(document.paths, '/paths');
    const { schemas } = document.components;
    expect(bare.filter((path) => !path.includes('/error'))).toEqual([]);
    expect(Object.values(schemas).filter(({ description }) => !description)).toEqual([]);
    for (const { operation } of operationsOf(document))
      expect(operation.description.length, operation.operationId).toBeGreaterThan(20);
  });

  test('has no multipleOf, which validators check by dividing doubles', () => {
    expect(JSON.stringify(document)).not.toContain('multipleOf');
    const { SellBody } = document.components.schemas as Record<string, { properties: object }>;
    expect(SellBody!.properties).toMatchObject({
      price: { minimum: 0.001, maximum: 0.999, 'x-decimal-places': 3 },
    });
    const order = { outcome: 'UP', shares: 1, timeInForce: 'GTC' };
    for (let ticks = 1; ticks < 1_000; ticks++) {
      const body = { ...order, price: ticks / 1_000 };
      const schema = pointer('components', 'schemas', 'SellBody');
      expect(programContract().schemaProblem(schema, body), `${body.price}`).toBe(null);
    }
  });

  test('errors are components, each written once', () => {
    const texts = Object.values(document.components.responses).map((one) => JSON.stringify(one));
    expect(new Set(texts).size).toBe(texts.length);
    for (const { path, operation } of operationsOf(document)) {
      if (path === '/stream') continue;
      for (const [status, response] of Object.entries(operation.responses))
        expect('$ref' in response, `${operation.operationId} ${status}`).toBe(status >= '400');
    }
  });

  test('every error of the table is described, with its status', () => {
    const told = new Map<string, string>();
    const responses = [
      ...operationsOf(document).map(({ operation }) => operation.responses),
      document['x-fallback-responses'],
    ].flatMap((ofOperation) => Object.entries(ofOperation));
    for (const [status, response] of responses) {
      const { content } = resolved(document, response);
      for (const code of Object.keys(content?.['application/json']?.examples ?? {}))
        told.set(code, status);
    }
    // Operator routes are not in the public document.
    expect(ERROR_CODES.filter((code) => told.get(code) !== `${ERRORS[code].status}`)).toEqual([
      'operator_key_required',
    ]);
  });

  test('has an ETag and is not sent again to a client with a current copy', async () => {
    const { status, headers, text } = await fetched('/api/openapi.json');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    const etag = `${headers.etag}`;
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    for (const named of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await fetched('/api/openapi.json', 'GET', { 'if-none-match': named });
      expect([again.status, again.text, again.headers.etag], named).toEqual([304, '', etag]);
    }
    expect((await fetched('/api/openapi.json', 'GET', { 'if-none-match': '"other"' })).status).toBe(
      200,
    );
    const head = await fetched('/api/openapi.json', 'HEAD');
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers['content-length']).toBe(`${Buffer.byteLength(text)}`);
    const posted = await fetched('/api/openapi.json', 'POST');
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});

/** Returns the location of a response, which may be a component. */
function placeOf(at: string[], response: Response | Reference): string[] {
  return '$ref' in response ? response.$ref.split('/').slice(1) : at;
}

describe('examples', () => {
  test('every route has one, and the exchange answers exactly that', async () => {
    const answered = await ContractSession.run();
    const names = ROUTES.map(routeName);
    expect(Object.keys(answered).sort()).toEqual([...names].sort());
    const lines = names.map((name) => `"${name}": ${JSON.stringify(answered[name])}`);
    const file = '../../../gateway/contract/examples.json';
    await expect(`{\n${lines.join(',\n')}\n}\n`).toMatchFileSnapshot(file);
  });

  test('each matches its schema, including those of errors', () => {
    const contract = programContract();
    let count = 0;
    for (const { path, method, operation } of operationsOf(contract.document)) {
      const at = [path === '/stream' ? 'x-websockets' : 'paths', path, method];
      const bodies = [
        { at: [...at, 'requestBody'], content: operation.requestBody?.content },
        ...Object.entries(operation.responses).map(([status, response]) => ({
          at: placeOf([...at, 'responses', status], response),
          content: resolved(contract.document, response).content,
        })),
      ];
      for (const { at, content = {} } of bodies) {
        for (const [type, { examples = {} }] of Object.entries(content)) {
          for (const [name, { value }] of Object.entries(examples)) {
            const schema = pointer(...at, 'content', type, 'schema');
            expect(contract.schemaProblem(schema, value), `${schema} ${name}`).toBe(null);
            count++;
          }
        }
      }
    }
    expect(count).toBeGreaterThan(300);
  });
});

describe('the check of answers', () => {
  const contract: Contract = programContract();
  const example = (route: string) =>
    structuredClone(EXAMPLES[route]?.response) as Record<string, unknown>;
  const answer = (body: unknown, status = 200, headers: Record<string, string> = {}) => ({
    status,
    headers: { 'content-type': 'application/json', ...headers },
    text: JSON.stringify(body),
  });
  const error = (code: string) => ({ error: { code, message: 'x', details: {} } });
  const check = (seen: ReturnType<typeof answer>, path = '/vaults', method = 'GET') =>
    contract.check(method, path, seen);

  test('accepts an answer that matches its description', () => {
    check(answer(example('GET /vaults')));
    check(answer(error('market_not_found'), 404), '/markets/btc-15m-1');
    check(answer(error('route_not_found'), 404), '/nowhere');
    check(answer(error('method_not_allowed'), 405, { allow: 'GET, HEAD' }), '/vaults', 'PATCH');
  });

  test.each([
    ['a field more', answer({ ...example('GET /vaults'), more: 1 })],
    ['a field less', answer({ vaults: [] })],
    ['a field of another type', answer({ ...example('GET /vaults'), sequence: '9' })],
    ['a status that is not described', answer(example('GET /vaults'), 201)],
    ['a code that the route does not have', answer(error('market_not_found'), 404)],
    ['a code with another status', answer(error('invalid_token'), 403)],
    ['another content type', answer(example('GET /vaults'), 200, { 'content-type': 'text/html' })],
    ['a header that is not described', answer(example('GET /vaults'), 200, { 'x-more': '1' })],
  ])('%s does not', (_what, seen) => {
    expect(() => check(seen)).toThrow('does not match its description');
  });

  test('refuses an answer without a required header', () => {
    const seen = answer(error('method_not_allowed'), 405);
    expect(() => check(seen, '/vaults', 'PATCH')).toThrow('the header Allow is missing');
  });
});

describe('the page', () => {
  const FILES = {
    '/api/docs': 'text/html; charset=utf-8',
    '/api/docs/': 'text/html; charset=utf-8',
    '/api/docs/start.js': 'text/javascript; charset=utf-8',
    '/api/docs/swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
    '/api/docs/swagger-ui.css': 'text/css; charset=utf-8',
    '/api/docs/icon.svg': 'image/svg+xml',
  };

  test.each(Object.entries(FILES))('%s is served', async (path, type) => {
    const { status, headers, text } = await fetched(path);
    expect([status, headers['content-type'], headers['x-content-type-options']]).toEqual([
      200,
      type,
      'nosniff',
    ]);
    expect(text.length).toBeGreaterThan(100);
    expect((await fetched(path, 'GET', { 'if-none-match': `${headers.etag}` })).status).toBe(304);
    expect((await fetched(path, 'POST')).status).toBe(405);
  });

  test('loads nothing from other sites and nothing that is not served', async () => {
    const { headers, text } = await fetched('/api/docs');
    const policy = `${headers['content-security-policy']}`;
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe/);
    const start = (await fetched('/api/docs/start.js')).text;
    expect(text + start).not.toMatch(/https?:|\/\/[a-z]/i);
    const asked = [...`${text}${start}`.matchAll(/(?:src|href|url)(?:=|: )['"]([^'"]+)['"]/g)].map(
      ([, path]) => path!,
    );
    expect(asked.length).toBe(5);
    for (const path of asked) expect((await fetched(path)).status, path).toBe(200);
  });

  test.each([
    '/api/docs/package.json',
    '/api/docs/index.html',
    '/api/docs/swagger-ui.js.map',
    '/api/docs/../../package.json',
    '/api/docs/..%2f..%2fpackage.json',
    '/api/docs/%2e%2e/swagger-ui-dist/package.json',
    '/api/docs/..\\package.json',
    '/api/docs//etc/passwd',
  ])('%s is not', async (path) => {
    // A URL object would normalize the path, which must be sent unchanged.
    const client = new Client(server.api.url);
    const response = await client.request({ path, method: 'GET' });
    expect(response.statusCode).toBe(404);
    expect(await response.body.json()).toMatchObject({ error: { code: 'route_not_found' } });
    await client.close();
  });
});
