/** Serves the description of the API, and the page that shows it. Both are made at start. */
import type { Door } from '../http/door.js';
import type { Route } from '../http/route.js';
import { buildDocument } from './document.js';
import { pageFiles } from './page.js';
import { serveFile } from './static-file.js';

/** @throws when a package's file is missing. */
export function serveContract(door: Door, routes: readonly Route[], version: string): void {
  const bytes = Buffer.from(JSON.stringify(buildDocument(routes, version)));
  serveFile(door, '/api/openapi.json', { contentType: 'application/json', bytes, headers: [] });
  for (const [path, file] of pageFiles()) serveFile(door, `/api${path}`, file);
}
