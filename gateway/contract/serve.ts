/**
 * Serves the OpenAPI document, also as 3.0, the AsyncAPI document of the stream, the pages that
 * show them, and at /api where to find them. All are built at the start.
 */
import type { Serving } from '../http/gateway.js';
import type { Route } from '../http/route.js';
import type { Router } from '../http/router.js';
import { routeName } from '../observe/metrics.js';
import type { StreamLimits } from '../stream/limits.js';
import { buildDocument } from './document.js';
import { asOpenApi30 } from './openapi-3.0.js';
import { pageFiles } from './page.js';
import { type StaticFile, serveFile } from './static-file.js';
import { buildStreamDocument } from './stream/document.js';
import { streamPage } from './stream/page.js';

const INDEX = JSON.stringify({
  documentation: '/api/docs',
  clients: '/client/',
  openapi: '/api/openapi.json',
  'openapi-3.0': '/api/openapi-3.0.json',
  asyncapi: '/api/asyncapi.json',
  stream: '/api/stream',
  status: '/api/status',
});

interface Built {
  /** What the files were made of. */
  key: string;
  files: Map<string, StaticFile>;
}

/** The last one made: a standby makes it while it waits. */
let built: Built | null = null;

/**
 * The files by path; made once for the same routes. Takes tenths of a second of CPU time.
 * @throws if a file of swagger-ui-dist is missing.
 */
export function contractFiles(
  routes: readonly Route[],
  version: string,
  limits: StreamLimits,
): Map<string, StaticFile> {
  const names = routes.map(routeName);
  const key = JSON.stringify([names, version, limits]);
  if (built?.key === key) return built.files;
  const document = buildDocument(routes, version);
  const stream = buildStreamDocument(version, limits);
  const files = new Map<string, StaticFile>();
  const texts = {
    '/api': INDEX,
    '/api/openapi.json': JSON.stringify(document),
    '/api/openapi-3.0.json': JSON.stringify(asOpenApi30(document)),
    '/api/asyncapi.json': JSON.stringify(stream),
  };
  for (const [path, text] of Object.entries(texts)) {
    const bytes = Buffer.from(text);
    files.set(path, { contentType: 'application/json', bytes, headers: [] });
  }
  files.set('/api/docs/stream', streamPage(stream));
  for (const [path, file] of pageFiles()) files.set(`/api${path}`, file);
  built = { key, files };
  return files;
}

/** @throws if a file of swagger-ui-dist is missing. */
export function serveContract(
  router: Router,
  routes: readonly Route[],
  server: Serving,
  limits: StreamLimits,
): void {
  for (const [path, file] of contractFiles(routes, server.version, limits))
    serveFile(router, path, file, server);
}
