/**
 * The client as a package: another package imports `quarter-hour-exchange/client`, type-checks and
 * runs; bundlers leave out what is not used, and nothing of it needs Node.js.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Api, Stream } from '../../../gateway/client/index.js';
import { MARKET, TestServer } from '../../support/server.js';
import { ROOT } from '../../support/sources.js';

const run = promisify(execFile);
const TSC = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin/tsc',
);

const PROGRAM = `
import { Api, buy, followAccount, isRefusal, register, Stream, toMicros } from 'quarter-hour-exchange/client';

const [url = '', marketId = ''] = process.argv.slice(2);
const api = new Api({ url });
const { token, userId } = await register(api, { username: 'consumer', password: 'correct horse battery' });
api.token = token;
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
console.log(JSON.stringify({ userId, available, code, held, status: receipt.status }));

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

const rules = (more: object) => ({
  compilerOptions: {
    target: 'ES2022',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    noEmitOnError: true,
    outDir: 'built',
    ...more,
  },
  include: ['program.ts'],
});
const NODE = rules({
  lib: ['ES2022'],
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  types: ['node'],
});
/** Without the types of Node.js, as in a page. */
const BROWSER = rules({
  lib: ['ES2022', 'DOM', 'DOM.Iterable'],
  module: 'ESNext',
  moduleResolution: 'Bundler',
  types: [],
  noEmit: true,
});

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await TestServer.withMarket();
  folder = await mkdtemp(join(tmpdir(), 'consumer-'));
  await mkdir(join(folder, 'node_modules/@types'), { recursive: true });
  await symlink(ROOT, join(folder, 'node_modules/quarter-hour-exchange'));
  const types = join(ROOT, 'node_modules/@types/node');
  await symlink(types, join(folder, 'node_modules/@types/node'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await server.stop();
});

async function compile(program: string, options: object): Promise<void> {
  await writeFile(join(folder, 'program.ts'), program);
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(options));
  const compiled = await run(process.execPath, [TSC, '-p', folder]).catch((error) => error);
  expect(compiled.stdout).toBe('');
}

describe('another package', () => {
  test('type-checks strictly with the client, and trades', async () => {
    await compile(PROGRAM, NODE);
    const program = join(folder, 'built/program.js');
    const { stdout } = await run(process.execPath, [program, `${server.api.url}/api`, MARKET]);
    expect(JSON.parse(stdout)).toMatchObject({
      available: 10_000_000_000,
      code: 'insufficient_liquidity',
      held: 500,
      status: 'resting',
    });
  });

  test('runs the example of the README, also twice', async () => {
    const [, example] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))!;
    const here = example!.replace('http://127.0.0.1:3000', server.api.url);
    await compile(`${here}stream.close();\n`, NODE);
    const { token } = await server.register('maker');
    for (let i = 0; i < 2; i++) {
      const offer = { outcome: 'DOWN', shares: 100, price: 0.5, timeInForce: 'GTC' };
      await server.api.post(`/markets/15m/${MARKET}/buy`, offer, token);
      const { stdout } = await run(process.execPath, [join(folder, 'built/program.js')]);
      expect(stdout).toContain('filled [');
    }
  });

  test('may be a page, which has no types of Node.js', async () => {
    const inPage = PROGRAM.replace('process.argv.slice(2)', "location.hash.split('/')");
    await compile(inPage, BROWSER);
  });
});

describe('a bundle', () => {
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

  test('of everything is small, and of one route much smaller', async () => {
    const everything = await bundled("export * from 'quarter-hour-exchange/client';");
    expect(everything.bytes).toBeLessThan(8_000);
    const one = await bundled(
      "import { Api, time } from 'quarter-hour-exchange/client'; console.log(await time(new Api()));",
    );
    expect(one.bytes).toBeLessThan(2_500);
    expect(one.text).not.toMatch(/vaults|leaderboard|WebSocket/);
    for (const { text } of [everything, one])
      expect(text).not.toMatch(/\bimport\b|\bprocess\b|\bBuffer\b/);
  });
});

test('a stream says what to pass where there is no global WebSocket, as on Node.js 20', () => {
  vi.stubGlobal('WebSocket', undefined);
  try {
    expect(() => new Stream(new Api({ url: 'http://127.0.0.1:1/api' }))).toThrow(/package ws/);
  } finally {
    vi.unstubAllGlobals();
  }
});
