/**
 * Serves the OpenAPI document, the page that shows it, and at /api where to find them. All are
 * built at the start.
 */
import type { Gateway } from '../http/gateway.js';
import type { Route } from '../http/route.js';
import type { Router } from '../http/router.js';
import { buildDocument } from './document.js';
import { pageFiles } from './page.js';
import { type StaticFile, serveFile } from './static-file.js';

const INDEX = JSON.stringify({
  documentation: '/api/docs',
  openapi: '/api/openapi.json',
  stream: '/api/stream',
  status: '/api/status',
});

/** @throws if a file of swagger-ui-dist is missing. */
export function serveContract(router: Router, routes: readonly Route[], gateway: Gateway): void {
  const bytes = Buffer.from(JSON.stringify(buildDocument(routes, gateway.version)));
  const document = { contentType: 'application/json', bytes, headers: [] };
  serveFile(router, '/api/openapi.json', document, gateway);
  const headers: StaticFile['headers'] = [];
  const index = { contentType: 'application/json', bytes: Buffer.from(INDEX), headers };
  serveFile(router, '/api', index, gateway);
  for (const [path, file] of pageFiles()) serveFile(router, `/api${path}`, file, gateway);
}
