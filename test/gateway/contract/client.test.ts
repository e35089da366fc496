/**
 * A typed client, generated from the document that the exchange serves. It compiles under strict
 * rules, the compiler rejects what the API does not have, and a program written with it trades.
 */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MARKET, TestServer } from '../../support/server.js';

/** Inside the repository, where packages are found, and not under version control. */
const DIST = fileURLToPath(new URL('../../../dist/', import.meta.url));
const TSC = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin/tsc',
);
const run = promisify(execFile);

const OPTIONS = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2022', 'DOM', 'DOM.Iterable'],
    module: 'NodeNext',
    moduleResolution: 'NodeNext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmitOnError: true,
    types: ['node'],
    outDir: 'built',
  },
  include: ['*.ts'],
};

/**
 * Registers, buys, and prints what it got. Lines that must not compile are marked, and the compiler
 * complains if they do.
 */
const PROGRAM = `
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

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await TestServer.withMarket();
  await mkdir(DIST, { recursive: true });
  folder = await mkdtemp(join(DIST, 'contract-client-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await server.stop();
});

test('a program with the generated client compiles strictly and trades', async () => {
  const types = astToString(await openapiTS(new URL(`${server.api.url}/api/openapi.json`)));
  await writeFile(join(folder, 'api.d.ts'), types);
  await writeFile(join(folder, 'trader.ts'), PROGRAM);
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(OPTIONS));
  const compiled = await run(process.execPath, [TSC, '-p', folder]).catch((error) => error);
  expect(compiled.stdout).toBe('');

  const maker = await server.register('maker');
  const offer = { outcome: 'DOWN', shares: 50, price: 0.6, timeInForce: 'GTC' };
  const offered = await server.api.post(`/markets/15m/${MARKET}/buy`, offer, maker.token);
  expect(offered.json.status).toBe('resting');

  const program = join(folder, 'built/trader.js');
  const { stdout } = await run(process.execPath, [
    program,
    `${server.api.url}/api`,
    'trader',
    MARKET,
  ]);
  const told = JSON.parse(stdout);
  expect(told).toMatchObject({
    receipt: { status: 'filled', shares: 13.75, averagePrice: 0.4, spent: 5.5, fee: 0.0275 },
    code: 'price_not_met',
    total: 9_994.4725,
    markets: [MARKET],
  });
  const { json } = await server.api.get(`/users/${told.userId}/positions`);
  expect(json.positions).toMatchObject([{ outcome: 'UP', shares: 13.75 }]);
});
