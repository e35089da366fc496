/**
 * Serves the OpenAPI document, the page that shows it, and at / and /api where to find them. All
 * are built at the start.
 */
import type { Gateway } from '../http/gateway.js';
import type { Route } from '../http/route.js';
import type { Router } from '../http/router.js';
import { buildDocument } from './document.js';
import { pageFiles } from './page.js';
import { TITLE } from './prose.js';
import { type StaticFile, serveFile } from './static-file.js';

const INDEX = JSON.stringify({
  documentation: '/api/docs',
  openapi: '/api/openapi.json',
  stream: '/api/stream',
  status: '/api/status',
});
const HTML = 'text/html; charset=utf-8';
const HOME = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>${TITLE}</title></head>
  <body>
    <h1>${TITLE}</h1>
    <p>The API is under <a href="/api">/api</a>. <a href="/api/docs">How to use it</a>.</p>
  </body>
</html>
`;

/** @throws if a file of swagger-ui-dist is missing. */
export function serveContract(router: Router, routes: readonly Route[], gateway: Gateway): void {
  const bytes = Buffer.from(JSON.stringify(buildDocument(routes, gateway.version)));
  const document = { contentType: 'application/json', bytes, headers: [] };
  serveFile(router, '/api/openapi.json', document, gateway);
  const headers: StaticFile['headers'] = [];
  const index = { contentType: 'application/json', bytes: Buffer.from(INDEX), headers };
  serveFile(router, '/api', index, gateway);
  const policy: [string, string] = ['Content-Security-Policy', "default-src 'none'"];
  const home = { contentType: HTML, bytes: Buffer.from(HOME), headers: [policy] };
  serveFile(router, '/', home, gateway);
  for (const [path, file] of pageFiles()) serveFile(router, `/api${path}`, file, gateway);
}
