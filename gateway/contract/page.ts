/**
 * The page that shows the OpenAPI document: Swagger UI, from the package swagger-ui-dist. Only the
 * files listed here are served, and the page loads nothing from other hosts.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { TITLE } from './prose.js';
import { builtFile, type StaticFile } from './static-file.js';

export const PACKAGE_FOLDER = dirname(
  createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'),
);

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

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${TITLE}: API</title>
    <link rel="icon" type="image/png" href="/api/docs/favicon-32x32.png">
    <link rel="stylesheet" href="/api/docs/swagger-ui.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/api/docs/swagger-ui-bundle.js"></script>
    <script src="/api/docs/start.js"></script>
  </body>
</html>
`;

/** Without Swagger UI's online validator, and without settings from the page's URL. */
const START = `SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  queryConfigEnabled: false,
  validatorUrl: null,
});
`;

const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** Path below /api → the file. */
export function pageFiles(): Map<string, StaticFile> {
  const html = fileOf('text/html; charset=utf-8', Buffer.from(PAGE));
  return new Map([
    ['/docs', html],
    ['/docs/', html],
    ['/docs/start.js', fileOf(JAVASCRIPT, Buffer.from(START))],
    ['/docs/swagger-ui-bundle.js', ofPackage('swagger-ui-bundle.js', JAVASCRIPT)],
    ['/docs/swagger-ui.css', ofPackage('swagger-ui.css', 'text/css; charset=utf-8')],
    ['/docs/favicon-32x32.png', ofPackage('favicon-32x32.png', 'image/png')],
  ]);
}

/** The build has compressed it: at a start, that would take most of the time. */
function ofPackage(name: string, contentType: string): StaticFile {
  const built = builtFile(`docs/${name}`, contentType);
  const plain = fileOf(contentType, built?.bytes ?? readFileSync(join(PACKAGE_FOLDER, name)));
  return { ...built, ...plain };
}

function fileOf(contentType: string, bytes: Buffer): StaticFile {
  const headers = [
    ['Content-Security-Policy', POLICY],
    ['Referrer-Policy', 'no-referrer'],
  ] as const;
  return { contentType, bytes, headers };
}
