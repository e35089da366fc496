/** How the site is served: to whom, with which headers, compressed, and from this origin only. */
import { readdirSync, statSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, expect, test } from 'vitest';
import { programFolder } from '../../../persistence/storage/program-folder.js';
import { TestServer } from '../../support/server.js';

const server = await TestServer.start();
afterAll(() => server.stop());

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

async function get(path: string, headers: Record<string, string> = {}) {
  const answer = await request(`${server.api.url}${path}`, { headers });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const header = (name: string) => [answer.headers[name] ?? ''].flat().join(', ');
  return { status: answer.statusCode, header, bytes, text: bytes.toString() };
}

async function assetsOfPage(): Promise<string[]> {
  const { text } = await get('/', BROWSER);
  return [...text.matchAll(/(?:src|href)="([^"]+)"/g)]
    .map(([, path]) => path!)
    .filter((path) => path.startsWith('/site/'));
}

test('a browser gets the page, everyone else the way to the API', async () => {
  const page = await get('/', BROWSER);
  expect(page.text).toContain('<div id="site">');
  expect(page.header('content-type')).toBe('text/html; charset=utf-8');
  const signpost = await get('/', { accept: '*/*' });
  expect(signpost.text).toContain('href="/api/docs"');
  expect(signpost.text).not.toContain('<script');
  for (const { header } of [page, signpost]) {
    expect(header('cache-control')).toBe('no-cache');
    expect(header('vary')).toContain('Accept');
  }
});

test('the page is 304 with its ETag, which differs from that of the other answer', async () => {
  const page = await get('/', BROWSER);
  const etag = page.header('etag');
  expect((await get('/', { ...BROWSER, 'if-none-match': etag })).status).toBe(304);
  expect((await get('/', { accept: '*/*', 'if-none-match': etag })).status).toBe(200);
});

test('the page lets nothing run but its own files', async () => {
  const { header, text } = await get('/', BROWSER);
  const policy = header('content-security-policy');
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|http|\*/);
  expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\bstyle=|\bon[a-z]+=/);
});

test('every file of the page is immutable, hashed, and the same plain and compressed', async () => {
  const paths = await assetsOfPage();
  expect(paths.length).toBeGreaterThanOrEqual(3);
  for (const path of paths) {
    expect(path).toMatch(/-[0-9A-Za-z]{8}\.(js|css|svg|png|webmanifest)$/);
    const plain = await get(path);
    expect(plain.status, path).toBe(200);
    expect(plain.header('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(plain.header('content-encoding')).toBe('');
    const brotli = await get(path, { 'accept-encoding': 'gzip, deflate, br' });
    expect(brotli.header('content-encoding')).toBe('br');
    expect(brotliDecompressSync(brotli.bytes).equals(plain.bytes)).toBe(true);
    const gzip = await get(path, { 'accept-encoding': 'gzip, br;q=0' });
    expect(gzip.header('content-encoding')).toBe('gzip');
    expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
    const tags = [plain, brotli, gzip].map(({ header }) => header('etag'));
    expect(new Set(tags).size).toBe(3);
  }
});

test('the scripts are small: the first view, and all of them, compressed', async () => {
  const folder = new URL('dist/site/', programFolder());
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const bytes = (names: string[]) =>
    names.reduce((sum, name) => sum + statSync(new URL(`${name}.br`, folder)).size, 0);
  const { text } = await get('/', BROWSER);
  const first = scripts.filter((name) => text.includes(name));
  expect(first.length).toBeGreaterThan(1);
  expect(bytes(first)).toBeLessThanOrEqual(40_000);
  expect(bytes(scripts)).toBeLessThanOrEqual(80_000);
});

test('the pictures of results are images, which caches check', async () => {
  const { header } = await get('/site/card-void.png');
  expect(header('content-type')).toBe('image/png');
  expect(header('cache-control')).toBe('no-cache');
});

test('the service worker is checked every time, and may serve the page', async () => {
  const { header } = await get('/site/worker.js');
  expect(header('cache-control')).toBe('no-cache');
  expect(header('service-worker-allowed')).toBe('/');
});

test('only what was built is served', async () => {
  const built = readdirSync(new URL('dist/site/', programFolder()));
  expect(built).toContain('index.html.br');
  const others = ['/site/', '/site/index.html', '/site/index.html.br', '/site/../package.json'];
  for (const path of others) expect((await get(path)).status, path).toBe(404);
});
