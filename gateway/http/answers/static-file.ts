/**
 * A static file: bytes in memory, never copied per connection, with an ETag, in the best form that
 * the client accepts and the build has compressed. Its cost in reads grows with its size.
 */
import type * as uWS from 'uWebSockets.js';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { programFolder } from '../../../persistence/storage/program-folder.js';
import { writeCrossOrigin } from '../../access/cross-origin.js';
import { FILE_BYTES } from '../../access/fair-use/charges.js';
import { errorAnswer } from '../../commands/errors.js';
import type { Serving } from '../gateway.js';
import type { Request } from '../request.js';
import type { Handler, Router } from '../router.js';
import { acceptedEncoding, type ContentEncoding } from './accept-encoding.js';
import { writeAndClose } from './closing-answer.js';
import { namesTag } from './entity-tags.js';
import { chargeReads, writeError } from './write-error.js';

export interface StaticFile {
  contentType: string;
  /** Forms of the file, best first. The last one is uncompressed. */
  forms: readonly Form[];
  headers: readonly (readonly [string, string])[];
  /** The header's value. Default: no-cache, so caches check the ETag each time. */
  cacheControl?: string;
}

interface Form {
  encoding: ContentEncoding;
  bytes: Buffer;
  etag: string;
}

export function staticFile(
  contentType: string,
  bytes: Buffer,
  compressed: readonly (readonly ['br' | 'gzip', Buffer])[] = [],
): StaticFile {
  const hash = createHash('sha256').update(bytes).digest('base64url');
  const forms = compressed.map(([encoding, bytes]) => ({
    encoding,
    bytes,
    etag: `"${hash}-${encoding}"`,
  }));
  return {
    contentType,
    forms: [...forms, { encoding: '', bytes, etag: `"${hash}"` }],
    headers: [],
  };
}

const DIST = new URL('dist/', programFolder());

/** A file below dist/, written by {@link buildFile}. @throws if the program is not built */
export function builtFile(path: string, contentType: string): StaticFile {
  const read = (suffix: string) => readFileSync(new URL(path + suffix, DIST));
  return staticFile(contentType, read(''), [
    ['br', read('.br')],
    ['gzip', read('.gz')],
  ]);
}

export function buildFile(path: string, content: Uint8Array | string): void {
  const file = fileURLToPath(new URL(path, DIST));
  // For a megabyte, the best quality takes three seconds and saves only a tenth of the bytes.
  const quality = content.length > 1_000_000 ? 9 : constants.BROTLI_MAX_QUALITY;
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}

export function serveFile(router: Router, path: string, file: StaticFile, server: Serving): void {
  serveChoice(router, path, { files: [file], choose: () => 0 }, server);
}

export interface FileChoice {
  files: readonly StaticFile[];
  choose: (raw: uWS.HttpRequest) => number;
}

export function serveChoice(
  router: Router,
  path: string,
  { files, choose }: FileChoice,
  server: Serving,
): void {
  const { unsent } = server;
  const serve = (response: uWS.HttpResponse, request: Request, raw: uWS.HttpRequest) => {
    const chosen = choose(raw);
    const file = files[chosen]!;
    const form = accepted(file.forms, request.acceptEncoding);
    const isHead = request.method === 'head';
    const isKnown = namesTag(request.ifNoneMatch, form.etag);
    const address = request.addressFrom(response);
    const reads = isKnown || isHead ? 1 : Math.ceil(form.bytes.byteLength / FILE_BYTES);
    response.cork(() => {
      if (!chargeReads(server, response, request, reads)) return;
      writeFileHead(response, file, form, isKnown);
      writeCrossOrigin(response, request.origin, server.config.siteOrigins);
      if (isKnown) writeAndClose(response, '');
      else if (isHead) writeAndClose(response, '', form.bytes.byteLength);
      else unsent.sendShared(response, form.bytes, { address });
    });
  };
  onRead(router, path, serve, server);
}

export function onRead(router: Router, path: string, serve: Handler, server: Serving): void {
  router.on('get', path, serve);
  router.on('head', path, serve);
  router.on('any', path, (response, request) => {
    const { unsent } = server;
    const options = { unsent, isHead: false, header: ['Allow', 'GET, HEAD'] } as const;
    if (chargeReads(server, response, request))
      writeError(response, errorAnswer('method_not_allowed'), options);
  });
}

function accepted(forms: readonly Form[], acceptEncoding: string): Form {
  const offered = forms.map(({ encoding }) => encoding);
  const { encoding } = acceptedEncoding(acceptEncoding, offered);
  return forms.find((form) => form.encoding === encoding)!;
}

function writeFileHead(
  response: uWS.HttpResponse,
  file: StaticFile,
  form: Form,
  isKnown: boolean,
): void {
  if (isKnown) response.writeStatus('304 Not Modified');
  else response.writeHeader('Content-Type', file.contentType);
  if (!isKnown && form.encoding !== '') response.writeHeader('Content-Encoding', form.encoding);
  if (file.forms.length > 1) response.writeHeader('Vary', 'Accept-Encoding');
  response.writeHeader('ETag', form.etag);
  response.writeHeader('Cache-Control', file.cacheControl ?? 'no-cache');
  response.writeHeader('X-Content-Type-Options', 'nosniff');
  for (const [name, value] of file.headers) response.writeHeader(name, value);
}
