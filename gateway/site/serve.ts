/**
 * Serves the site: the page at /, its scripts and styles below /site. A client that accepts
 * text/html gets the page at /. Other clients get a pointer to the API.
 *
 * Invariant: a file's name below /site contains a hash of its content, so caches keep it
 * permanently. Result pictures and the service worker have no hash: caches check them and the page
 * every time.
 * Neither loads or runs anything from another host.
 */
import { readdirSync } from 'node:fs';
import { programFolder } from '../../persistence/storage/program-folder.js';
import { TITLE } from '../contract/prose.js';
import {
  builtFile,
  type StaticFile,
  serveChoice,
  serveFile,
  staticFile,
} from '../http/answers/static-file.js';
import type { Serving } from '../http/gateway.js';
import type { Router } from '../http/router.js';

const HTML = 'text/html; charset=utf-8';
/** Content types by file extension. Other files, such as source maps, are not served. */
const CONTENT_TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webmanifest: 'application/manifest+json',
};
const IMMUTABLE = 'public, max-age=31536000, immutable';
const HASHED = /-[0-9A-Za-z]{8}\./;
/** The service worker also serves pages above its folder. */
const WORKER = 'worker.js';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types worker',
].join('; ');
const PAGE_HEADERS: StaticFile['headers'] = [
  ['Content-Security-Policy', POLICY],
  ['Referrer-Policy', 'no-referrer'],
  ['Vary', 'Accept'],
];

const SIGNPOST = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>${TITLE}</title></head>
  <body>
    <h1>${TITLE}</h1>
    <p>The API is under <a href="/api">/api</a>. <a href="/api/docs">How to use it</a>.
      <a href="/api/docs/recipes.md">Recipes</a>.
      <a href="/client/">Clients in TypeScript and Python</a>.</p>
  </body>
</html>
`;

/** The response at / for clients that do not accept text/html. */
const signpost: StaticFile = {
  ...staticFile(HTML, Buffer.from(SIGNPOST)),
  headers: [
    ['Content-Security-Policy', "default-src 'none'"],
    ['Vary', 'Accept'],
  ],
};

export function serveSite(router: Router, server: Serving): void {
  const { page, files } = siteFiles();
  const choose = (raw: { getHeader(name: string): string }) =>
    raw.getHeader('accept').includes('text/html') ? 0 : 1;
  serveChoice(router, '/', { files: [page, signpost], choose }, server);
  for (const [path, file] of files) serveFile(router, path, file, server);
}

interface Site {
  page: StaticFile;
  files: Map<string, StaticFile>;
}

let read: Site | null = null;

/**
 * The site's files, read once, so that a standby that takes over after months serves the files from
 * its startup.
 * @throws if the site is not built
 */
export function siteFiles(): Site {
  if (read !== null) return read;
  const page = { ...builtFile('site/index.html', HTML), headers: PAGE_HEADERS };
  const files = new Map<string, StaticFile>();
  for (const name of readdirSync(new URL('dist/site/', programFolder()))) {
    const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (contentType === undefined) continue;
    const file = builtFile(`site/${name}`, contentType);
    if (HASHED.test(name)) file.cacheControl = IMMUTABLE;
    if (name === WORKER) file.headers = [['Service-Worker-Allowed', '/']];
    files.set(`/site/${name}`, file);
  }
  read = { page, files };
  return read;
}
