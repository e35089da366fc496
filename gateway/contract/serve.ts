/** Serves the API's documents, their pages, the guides and the downloads (built by build.ts). */

import { builtFile, type StaticFile, serveFile } from '../http/answers/static-file.js';
import type { Serving } from '../http/gateway.js';
import type { Router } from '../http/router.js';
import { serveDayFiles } from '../resources/day-files/serve.js';
import { downloads } from './downloads/files.js';
import { GUIDES } from './guides.js';
import { STREAM_POLICY } from './stream/style.js';

const JSON_TYPE = 'application/json';
const HTML = 'text/html; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** Swagger UI uses inline styles, and its style sheet contains images. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const MARKDOWN = 'text/markdown; charset=utf-8';

/** Path, file below dist/docs, content type, and a page's content security policy. */
const FILES: [path: string, name: string, contentType: string, policy?: string][] = [
  ['/llms.txt', 'llms.txt', 'text/plain; charset=utf-8'],
  ...Object.keys(GUIDES).map(
    (name) => [`/api/docs/${name}`, name, MARKDOWN] as [string, string, string],
  ),
  ['/api', 'index.json', JSON_TYPE],
  ['/api/openapi.json', 'openapi.json', JSON_TYPE],
  ['/api/openapi-3.0.json', 'openapi-3.0.json', JSON_TYPE],
  ['/api/asyncapi.json', 'asyncapi.json', JSON_TYPE],
  ['/api/docs', 'page.html', HTML, POLICY],
  ['/api/docs/', 'page.html', HTML, POLICY],
  ['/api/docs/stream', 'stream.html', HTML, STREAM_POLICY],
  ['/api/docs/start.js', 'start.js', JAVASCRIPT, POLICY],
  ['/api/docs/swagger-ui-bundle.js', 'swagger-ui-bundle.js', JAVASCRIPT, POLICY],
  ['/api/docs/swagger-ui.css', 'swagger-ui.css', 'text/css; charset=utf-8', POLICY],
  ['/api/docs/icon.svg', 'icon.svg', 'image/svg+xml', POLICY],
];

let read: Map<string, StaticFile> | null = null;

/** Read once. @throws if they are not built */
export function contractFiles(): Map<string, StaticFile> {
  if (read !== null) return read;
  const files = new Map<string, StaticFile>();
  for (const [path, name, contentType, policy] of FILES) {
    const file = builtFile(`docs/${name}`, contentType);
    files.set(path, policy === undefined ? file : { ...file, headers: headersOf(policy) });
  }
  read = files;
  return files;
}

function headersOf(policy: string): StaticFile['headers'] {
  return [
    ['Content-Security-Policy', policy],
    ['Referrer-Policy', 'no-referrer'],
  ];
}

export function serveContract(router: Router, server: Serving): void {
  for (const [path, file] of [...contractFiles(), ...downloads()])
    serveFile(router, path, file, server);
  serveDayFiles(router, server);
}
