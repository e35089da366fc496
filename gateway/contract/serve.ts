/** Serves the description of the API, and the page that shows it. Both are made at start. */
import type { Door } from '../http/door.js';
import type { Gateway } from '../http/gateway.js';
import type { Route } from '../http/route.js';
import { buildDocument } from './document.js';
import { pageFiles } from './page.js';
import { serveFile } from './static-file.js';

/** @throws when a package's file is missing. */
export function serveContract(door: Door, routes: readonly Route[], gateway: Gateway): void {
  const bytes = Buffer.from(JSON.stringify(buildDocument(routes, gateway.version)));
  serveFile(door, '/api/openapi.json', { contentType: 'application/json', bytes, headers: [] }, gateway);
  for (const [path, file] of pageFiles()) serveFile(door, `/api${path}`, file, gateway);
}
