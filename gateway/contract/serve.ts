/**
 * Serves the OpenAPI document, the AsyncAPI document of the stream, the pages that show them, and
 * at /api where to find them. All are built at the start.
 */
import type { Gateway } from '../http/gateway.js';
import type { Route } from '../http/route.js';
import type { Router } from '../http/router.js';
import type { StreamLimits } from '../stream/limits.js';
import { buildDocument } from './document.js';
import { pageFiles } from './page.js';
import { type StaticFile, serveFile } from './static-file.js';
import { buildStreamDocument } from './stream/document.js';
import { streamPage } from './stream/page.js';

const INDEX = JSON.stringify({
  documentation: '/api/docs',
  openapi: '/api/openapi.json',
  asyncapi: '/api/asyncapi.json',
  stream: '/api/stream',
  status: '/api/status',
});

/** @throws if a file of swagger-ui-dist is missing. */
export function serveContract(
  router: Router,
  routes: readonly Route[],
  gateway: Gateway,
  limits: StreamLimits,
): void {
  const stream = buildStreamDocument(gateway.version, limits);
  const texts = {
    '/api': INDEX,
    '/api/openapi.json': JSON.stringify(buildDocument(routes, gateway.version)),
    '/api/asyncapi.json': JSON.stringify(stream),
  };
  for (const [path, text] of Object.entries(texts)) {
    const headers: StaticFile['headers'] = [];
    const bytes = Buffer.from(text);
    serveFile(router, path, { contentType: 'application/json', bytes, headers }, gateway);
  }
  serveFile(router, '/api/docs/stream', streamPage(stream), gateway);
  for (const [path, file] of pageFiles()) serveFile(router, `/api${path}`, file, gateway);
}
