/**
 * The client's npm package as a user gets it: installed from a running exchange into an empty
 * folder. It compiles strictly, trades on each installed Node.js, is small, and lets bundlers drop
 * unused routes.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MARKET, TestServer } from '../../support/server.js';
import { ROOT } from '../../support/sources.js';
import { compile } from '../contract/generated-program.js';

const run = promisify(execFile);
const PROGRAM = `
import { Api, buy, followAccount, isRefusal, register, Stream, toMicros } from 'quarter-hour-client';

const [url = '', marketId = '', username = ''] = process.argv.slice(2);
const api = new Api({ url });
const { token } = await register(api, { username, password: 'correct horse battery' });
api.token = token;
let complaint = null;
if (!('WebSocket' in globalThis)) {
  try {
    new Stream(api);
  } catch (error) {
    complaint = \`\${error}\`;
  }
  Object.assign(globalThis, await import('ws' as string));
}
const stream = new Stream(api);
const available = await new Promise<number>((resolve) => {
  followAccount(stream, { onChange: ({ availableMicros }) => resolve(availableMicros) });
});
let code: string | null = null;
try {
  await buy(api, marketId, { outcome: 'UP', amount: '5' });
} catch (error) {
  if (isRefusal(error, 'insufficient_liquidity')) code = error.code;
}
const order = { outcome: 'UP', shares: '0.001', price: '0.5', timeInForce: 'GTC' } as const;
const receipt = await buy(api, marketId, order);
const held: number = toMicros(receipt.balance.held);
stream.close();
console.log(JSON.stringify({ complaint, available, code, held, status: receipt.status }));

export function notCompiled(): void {
  // @ts-expect-error there is no such outcome
  void buy(api, marketId, { outcome: 'LEFT', amount: '1' });
  // @ts-expect-error a purchase of shares needs a price
  void buy(api, marketId, { outcome: 'UP', shares: '1' });
  // @ts-expect-error a receipt has no such field
  void receipt.cost;
  // @ts-expect-error there is no such code
  isRefusal(null, 'no_such_code');
}
`;

const NODE = { lib: ['ES2022'], exactOptionalPropertyTypes: true };
/** Settings of a page, without Node.js types. The package's own types are checked as well. */
const BROWSER = {
  ...NODE,
  skipLibCheck: false,
  lib: ['ES2022', 'DOM', 'DOM.Iterable'],
  module: 'ESNext',
  moduleResolution: 'Bundler',
  types: [],
  noEmit: true,
};

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await TestServer.withMarket();
  folder = await mkdtemp(join(tmpdir(), 'consumer-'));
  const address = `${server.api.url}/client/quarter-hour-client.tgz`;
  const command = ['install', '--no-audit', '--no-fund', '--no-update-notifier', address];
  await run('npm', command, { cwd: folder });
  // What a user installs from a registry: the types of Node.js and, for Node.js 20, ws.
  await mkdir(join(folder, 'node_modules/@types'));
  for (const name of ['@types/node', 'ws'])
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await server.stop();
});

async function compileAs(rules: object, program: string): Promise<void> {
  await writeFile(join(folder, 'program.mts'), program);
  await compile(folder, ['*.mts'], rules);
}

/** One Node.js per version in the path, from 20 on. Always includes this process's. */
async function nodes(): Promise<Map<string, string>> {
  const found = new Map([[process.version, process.execPath]]);
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const program = join(folder, 'node');
    if (!existsSync(program)) continue;
    const version = (await run(program, ['--version'])).stdout.trim();
    if (Number.parseInt(version.slice(1), 10) >= 20) found.set(version, program);
  }
  return found;
}

test('a stranger gets a small package without dependencies', async () => {
  const installed = join(folder, 'node_modules/quarter-hour-client');
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  expect(dependencies).toBeUndefined();
  expect((await readdir(installed)).sort()).toEqual([
    'LICENSE',
    'README.md',
    'index.d.ts',
    'index.js',
    'package.json',
  ]);
  expect(readFileSync(join(installed, 'index.d.ts'), 'utf8')).not.toMatch(/\bimport\b|\bzod\b/);
  for (const path of [
    '',
    'quarter_hour.py',
    'pyproject.toml',
    'taker.py',
    'taker.ts',
    'ccxt-quarter-hour.ts',
  ])
    expect((await fetch(`${server.api.url}/client/${path}`)).status, path).toBe(200);
  expect(statSync(join(ROOT, 'dist/downloads/quarter-hour-client.tgz')).size).toBeLessThan(30_000);
});

test('the package type-checks strictly, and trades with each Node.js that is here', async () => {
  await compileAs(NODE, PROGRAM);
  const program = join(folder, 'built/program.mjs');
  const versions = await nodes();
  for (const [version, node] of versions) {
    const args = [program, `${server.api.url}/api`, MARKET, `stranger-${version.slice(1, 3)}`];
    const { stdout } = await run(node, args);
    expect(JSON.parse(stdout), version).toEqual({
      complaint: version.startsWith('v20') ? expect.stringContaining('package ws') : null,
      available: 10_000_000_000,
      code: 'insufficient_liquidity',
      held: 500,
      status: 'resting',
    });
  }
  process.stdout.write(`the package trades on Node.js ${[...versions.keys()].join(', ')}\n`);
});

test('the example of the README runs, also twice', async () => {
  const [, example] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))!;
  await compileAs(NODE, example!.replace('http://127.0.0.1:3000', server.api.url));
  const { token } = await server.register('maker');
  for (let i = 0; i < 2; i++) {
    const offer = { outcome: 'DOWN', shares: 100, price: 0.5, timeInForce: 'GTC' };
    await server.api.post(`/markets/15m/${MARKET}/buy`, offer, token);
    const { stdout } = await run(process.execPath, [join(folder, 'built/program.mjs')]);
    expect(stdout).toContain('filled [');
  }
});

test('the package may be in a page, which has no types of Node.js', async () => {
  const inPage = PROGRAM.replace('process.argv.slice(2)', "location.hash.split('/')");
  await compileAs(BROWSER, inPage);
});

async function bundled(program: string): Promise<{ text: string; bytes: number }> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: folder, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
  });
  const { text } = outputFiles[0]!;
  return { text, bytes: gzipSync(text).length };
}

test('a bundle of everything is small, and of one route much smaller', async () => {
  const everything = await bundled("export * from 'quarter-hour-client';");
  expect(everything.bytes).toBeLessThan(9_000);
  const one = await bundled(
    "import { Api, time } from 'quarter-hour-client'; console.log(await time(new Api()));",
  );
  expect(one.bytes).toBeLessThan(2_500);
  expect(one.text).not.toMatch(/vaults|leaderboard|WebSocket/);
  for (const { text } of [everything, one])
    expect(text).not.toMatch(/\bimport\b|\bprocess\b|\bBuffer\b/);
});
