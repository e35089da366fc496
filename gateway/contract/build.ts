/** Builds the API's documents, their pages and the guides into dist/docs. */
import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { programFolder, programVersion } from '../../persistence/storage/program-folder.js';
import { buildFile } from '../http/answers/static-file.js';
import { ROUTES } from '../resources/routes.js';
import { buildDocument } from './document.js';
import { guides, LLMS } from './guides.js';
import { asOpenApi30 } from './openapi-3.0.js';
import { PAGE, START } from './page.js';
import { buildStreamDocument } from './stream/document.js';
import { streamPage } from './stream/page.js';

const INDEX = {
  documentation: '/api/docs',
  guides: '/llms.txt',
  clients: '/client/',
  openapi: '/api/openapi.json',
  'openapi-3.0': '/api/openapi-3.0.json',
  asyncapi: '/api/asyncapi.json',
  stream: '/api/stream',
  status: '/api/status',
};

const { resolve } = createRequire(import.meta.url);
const version = programVersion();
const document = buildDocument(ROUTES, version);
const stream = buildStreamDocument(version);
const files = {
  'index.json': JSON.stringify(INDEX),
  'openapi.json': JSON.stringify(document),
  'openapi-3.0.json': JSON.stringify(asOpenApi30(document)),
  'asyncapi.json': JSON.stringify(stream),
  'stream.html': streamPage(stream),
  'llms.txt': LLMS,
  ...guides(),
  'page.html': PAGE,
  'start.js': START,
  'swagger-ui-bundle.js': readFileSync(resolve('swagger-ui-dist/swagger-ui-bundle.js')),
  'swagger-ui.css': readFileSync(resolve('swagger-ui-dist/swagger-ui.css')),
  'icon.svg': readFileSync(new URL('gateway/site/app/icon.svg', programFolder())),
};

rmSync(new URL('dist/docs', programFolder()), { recursive: true, force: true });
for (const [name, content] of Object.entries(files)) buildFile(`docs/${name}`, content);
