/** Serves the OpenAPI document and the page that shows it. Both are built at the start. */
import type { Gateway } from '../http/gateway.js';
import type { Route } from '../http/route.js';
import type { Router } from '../http/router.js';
import { buildDocument } from './document.js';
import { pageFiles } from './page.js';
import { serveFile } from './static-file.js';

/** @throws if a file of swagger-ui-dist is missing. */
export function serveContract(router: Router, routes: readonly Route[], gateway: Gateway): void {
  const bytes = Buffer.from(JSON.stringify(buildDocument(routes, gateway.version)));
  const document = { contentType: 'application/json', bytes, headers: [] };
  serveFile(router, '/api/openapi.json', document, gateway);
  for (const [path, file] of pageFiles()) serveFile(router, `/api${path}`, file, gateway);
}
