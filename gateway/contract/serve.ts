/**
 * Serves the OpenAPI document, also as 3.0, the AsyncAPI document of the stream, the pages that
 * show them, and at /api where to find them. The build makes the files (build.ts).
 */
import type { Serving } from '../http/gateway.js';
import type { Router } from '../http/router.js';
import { builtFile, type StaticFile, serveFile } from './static-file.js';

const JSON_TYPE = 'application/json';
const HTML = 'text/html; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** By the path below /api: the name below dist/docs, and the type. */
const DOCUMENTS = [
  ['', 'index.json', JSON_TYPE],
  ['/openapi.json', 'openapi.json', JSON_TYPE],
  ['/openapi-3.0.json', 'openapi-3.0.json', JSON_TYPE],
  ['/asyncapi.json', 'asyncapi.json', JSON_TYPE],
] as const;
const PAGES = [
  ['/docs', 'page.html', HTML],
  ['/docs/', 'page.html', HTML],
  ['/docs/stream', 'stream.html', HTML],
  ['/docs/start.js', 'start.js', JAVASCRIPT],
  ['/docs/swagger-ui-bundle.js', 'swagger-ui-bundle.js', JAVASCRIPT],
  ['/docs/swagger-ui.css', 'swagger-ui.css', 'text/css; charset=utf-8'],
  ['/docs/icon.svg', 'icon.svg', 'image/svg+xml'],
] as const;

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
const PAGE_HEADERS: StaticFile['headers'] = [
  ['Content-Security-Policy', POLICY],
  ['Referrer-Policy', 'no-referrer'],
];

let read: Map<string, StaticFile> | null = null;

/** By path. Read once, like the site. @throws if they are not built. */
export function contractFiles(): Map<string, StaticFile> {
  if (read !== null) return read;
  const files = new Map<string, StaticFile>();
  for (const [path, name, contentType] of DOCUMENTS)
    files.set(`/api${path}`, builtFile(`docs/${name}`, contentType));
  for (const [path, name, contentType] of PAGES)
    files.set(`/api${path}`, { ...builtFile(`docs/${name}`, contentType), headers: PAGE_HEADERS });
  read = files;
  return files;
}

export function serveContract(router: Router, server: Serving): void {
  for (const [path, file] of contractFiles()) serveFile(router, path, file, server);
}
