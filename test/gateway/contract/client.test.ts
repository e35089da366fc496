/**
 * Typed clients, created by three generators from the served document. They compile under strict
 * rules, and programs that use them trade. With the first generator, the compiler also rejects
 * calls that the API does not have.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@hey-api/openapi-ts';
import openapiTS, { astToString } from 'openapi-typescript';
import { generate } from 'orval';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MARKET, TestServer } from '../../support/server.js';
import { compile, folderForPrograms, runProgram } from './generated-program.js';

/** Registers, buys, and prints the results. The compiler reports marked lines that do compile. */
const OPENAPI_TYPESCRIPT = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

const [baseUrl = '', username = '', marketId = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl });

const registered = await client.POST('/auth/register', { body: { username, password: 'correct horse battery' } });
if (registered.data === undefined) throw new Error(registered.error.error.message);
const { userId, token } = registered.data;
client.use({
  onRequest({ request }) {
    request.headers.set('x-user-token', token);
    return request;
  },
});

const bought = await client.POST('/markets/15m/{marketId}/buy', {
  params: { path: { marketId }, header: { 'Idempotency-Key': 'first' } },
  body: { outcome: 'UP', amount: 5.5 },
});
if (bought.data === undefined) throw new Error(bought.error.error.message);
const receipt: components['schemas']['BuyReceipt'] = bought.data;

const refused = await client.POST('/markets/15m/{marketId}/buy', {
  params: { path: { marketId } },
  body: { outcome: 'DOWN', shares: 1, price: 0.001, timeInForce: 'FOK' },
});
if (refused.error === undefined) throw new Error('the request should have been refused');
const code: components['schemas']['ErrorBody']['error']['code'] = refused.error.error.code;

const read = await client.GET('/users/{id}/balance', { params: { path: { id: userId } } });
if (read.data === undefined) throw new Error(read.error.error.message);
const total: number = read.data.total;

const page = await client.GET('/markets', { params: { query: { status: 'active', limit: 1 } } });
const markets: string[] | undefined = page.data?.markets.map((market) => market.id);

console.log(JSON.stringify({ userId, receipt, code, total, markets }));

export function notCompiled(): void {
  const params = { path: { marketId } };
  // @ts-expect-error there is no such outcome
  void client.POST('/markets/15m/{marketId}/buy', { params, body: { outcome: 'LEFT', amount: 1 } });
  // @ts-expect-error a sale needs shares
  void client.POST('/markets/15m/{marketId}/sell', { params, body: { outcome: 'UP' } });
  // @ts-expect-error a price is a number
  void client.POST('/markets/15m/{marketId}/buy', { params, body: { outcome: 'UP', shares: 1, price: '0.5' } });
  // @ts-expect-error there is no such route
  void client.GET('/market');
  // @ts-expect-error there is no such status
  void client.GET('/markets', { params: { query: { status: 'open' } } });
  // @ts-expect-error a receipt has no such field
  void receipt.cost;
  // @ts-expect-error there is no such code
  const unknownCode: 'idempotency_key_lost' = refused.error.error.code;
  void unknownCode;
}
`;

/** The same steps, as far as this client supports them. */
const HEY_API = `
import { client } from './api/client.gen.js';
import { getUsersBalance, postAuthRegister, postMarkets15mBuy } from './api/sdk.gen.js';

const [baseUrl = '', username = '', marketId = ''] = process.argv.slice(2);
client.setConfig({ baseUrl });

const registered = await postAuthRegister({ body: { username, password: 'correct horse battery' } });
if (registered.data === undefined) throw new Error(registered.error.error.message);
const { userId, token } = registered.data;
client.setConfig({ baseUrl, auth: ({ in: place }) => (place === 'cookie' ? undefined : token) });

const path = { marketId };
const bought = await postMarkets15mBuy({
  path,
  headers: { 'Idempotency-Key': 'first' },
  body: { outcome: 'UP', amount: 5.5 },
});
if (bought.data === undefined) throw new Error(bought.error.error.message);
const refused = await postMarkets15mBuy({
  path,
  body: { outcome: 'DOWN', shares: 1, price: 0.001, timeInForce: 'FOK' },
});
if (refused.error === undefined) throw new Error('the request should have been refused');
const read = await getUsersBalance({ path: { id: userId } });
if (read.data === undefined) throw new Error(read.error.error.message);
const total: number = read.data.total;
console.log(JSON.stringify({ userId, receipt: bought.data, code: refused.error.error.code, total }));
`;

/** The same steps. */
const ORVAL = `
import { getUsersBalance, postAuthRegister, postMarkets15mBuy } from './api.js';

const [, username = '', marketId = ''] = process.argv.slice(2);

const registered = await postAuthRegister({ username, password: 'correct horse battery' });
if (registered.status !== 201) throw new Error(registered.data.error.message);
const { userId, token } = registered.data;
const headers = { 'x-user-token': token };

const order = { outcome: 'UP', amount: 5.5 } as const;
const bought = await postMarkets15mBuy(marketId, order, undefined, {
  headers: { ...headers, 'Idempotency-Key': 'first' },
});
if (bought.status !== 200) throw new Error(bought.data.error.message);
const limited = { outcome: 'DOWN', shares: 1, price: 0.001, timeInForce: 'FOK' } as const;
const refused = await postMarkets15mBuy(marketId, limited, undefined, { headers });
if (refused.status !== 409) throw new Error('the request should have been refused');
const read = await getUsersBalance(userId, undefined, { headers });
if (read.status !== 200) throw new Error(read.data.error.message);
const total: number = read.data.total;
console.log(JSON.stringify({ userId, receipt: bought.data, code: refused.data.error.code, total }));
`;

const PROGRAMS = { 'openapi-typescript': OPENAPI_TYPESCRIPT, 'hey-api': HEY_API, orval: ORVAL };

let server: TestServer;
let url: string;
let folder: string;
beforeAll(async () => {
  server = await TestServer.withMarket();
  url = `${server.api.url}/api`;
  const maker = await server.register('maker');
  const offer = { outcome: 'DOWN', shares: 50, price: 0.6, timeInForce: 'GTC' };
  const offered = await server.buy(maker, offer);
  expect(offered.json.status).toBe('resting');
  folder = await folderForPrograms();
  for (const [name, program] of Object.entries(PROGRAMS)) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'program.ts'), program);
  }
  const input = `${url}/openapi.json`;
  const types = astToString(await openapiTS(new URL(input)));
  await writeFile(join(folder, 'openapi-typescript/api.ts'), types);
  await createClient({
    input,
    output: { path: join(folder, 'hey-api/api'), importFileExtension: '.js' },
    plugins: ['@hey-api/client-fetch', '@hey-api/sdk', '@hey-api/typescript'],
    logs: { level: 'silent' },
  });
  const output = { target: join(folder, 'orval/api.ts'), client: 'fetch', baseUrl: url } as const;
  await generate({ input, output });
  await compile(folder, ['openapi-typescript/**/*.ts'], { exactOptionalPropertyTypes: true });
  await compile(folder, ['hey-api/**/*.ts', 'orval/**/*.ts'], {});
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

test.each(Object.keys(PROGRAMS))('a program with the client of %s trades', async (name) => {
  const told = await runProgram(folder, name, [url, `${name.slice(0, 6)}-user`, MARKET]);
  expect(told).toMatchObject({
    receipt: { status: 'filled', shares: 13.75, averagePrice: 0.4, spent: 5.5, fee: 0.0275 },
    code: 'price_not_met',
    total: 9_994.4725,
  });
  if (name === 'openapi-typescript') expect(told.markets).toEqual([MARKET]);
  const { json } = await server.api.get(`/users/${told.userId}/positions`);
  expect(json.positions).toMatchObject([{ outcome: 'UP', shares: 13.75 }]);
});
