/**
 * A static file: bytes in memory for the life of the process, never copied for a connection, with
 * an ETag. It is sent in the best of its compressed forms that the client accepts; those that are
 * not given are made when it is first served by this process, at its start. For fair use, it counts
 * as a number of reads of its address that grows with its size.
 */
import type * as uWS from 'uWebSockets.js';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { programFolder } from '../../persistence/storage/program-folder.js';
import { writeCrossOrigin } from '../access/cross-origin.js';
import { Bill } from '../access/fair-use/fair-use.js';
import { acceptedCoding, CODINGS, type Coding } from '../http/answers/accept-encoding.js';
import { compress } from '../http/answers/compress.js';
import { namesTag } from '../http/answers/entity-tags.js';
import { writeLast } from '../http/answers/last-answer.js';
import { writeError } from '../http/answers/write-error.js';
import { errorAnswer, rateLimited } from '../http/errors.js';
import type { Serving } from '../http/gateway.js';
import type { Request } from '../http/request.js';
import type { Handler, Router } from '../http/router.js';

export interface StaticFile {
  contentType: string;
  bytes: Buffer;
  /** Additional headers, names and values. */
  headers: readonly (readonly [string, string])[];
  /**
   * The bytes compressed, by content coding, the best first. Absent: they are made, if the
   * file is text.
   */
  compressed?: readonly (readonly ['br' | 'gzip', Buffer])[];
  /** The standard is no-cache: a cache asks with the ETag each time. */
  cacheControl?: string;
}

/** A file that the build has written below dist/, with its compressed forms; null: it has not. */
export function builtFile(path: string, contentType: string): StaticFile | null {
  const at = (suffix: string) => new URL(`dist/${path}${suffix}`, programFolder());
  if (!existsSync(at(''))) return null;
  const read = (suffix: string) => readFileSync(at(suffix));
  const compressed = [
    ['br', read('.br')],
    ['gzip', read('.gz')],
  ] as const;
  return { contentType, bytes: read(''), headers: [], compressed };
}

/** One form of a file, with its ETag. */
interface Form {
  coding: Coding;
  bytes: Buffer;
  etag: string;
}

/** Counts as one read: writing this much takes about as long as an ordinary read. */
const BYTES_PER_READ = 64 * 1024;

/** Answers GET and HEAD of the path with the file, and other methods with 405. */
export function serveFile(router: Router, path: string, file: StaticFile, server: Serving): void {
  serveChoice(router, path, { files: [file], choose: () => 0 }, server);
}

export interface FileChoice {
  files: readonly StaticFile[];
  /** The index of the file that the request asks for. */
  choose: (raw: uWS.HttpRequest) => number;
}

/** Answers as {@link serveFile} does, with the file that `choose` takes for the request. */
export function serveChoice(
  router: Router,
  path: string,
  { files, choose }: FileChoice,
  server: Serving,
): void {
  const forms = files.map(formsOf);
  const { fairUse, unsent } = server;
  const serve = (response: uWS.HttpResponse, request: Request, raw: uWS.HttpRequest) => {
    const chosen = choose(raw);
    const file = files[chosen]!;
    const form = accepted(forms[chosen]!, request.acceptEncoding);
    const isHead = request.method === 'head';
    const isKnown = namesTag(request.ifNoneMatch, form.etag);
    const address = request.addressFrom(response);
    const reads = isKnown || isHead ? 1 : Math.ceil(form.bytes.byteLength / BYTES_PER_READ);
    const result = fairUse.charge('reads', new Bill({ address }), reads);
    response.cork(() => {
      if (result !== null && !result.granted) {
        const { error, retryAfter } = rateLimited(result.waitMs);
        writeError(response, error, { unsent, isHead, header: ['Retry-After', retryAfter] });
        return;
      }
      writeFileHead(response, file, form, { isKnown, hasForms: forms[chosen]!.length > 1 });
      writeCrossOrigin(response, request.origin, server.config.siteOrigins);
      if (isKnown) writeLast(response, '');
      else if (isHead) writeLast(response, '', form.bytes.byteLength);
      else unsent.sendShared(response, form.bytes, { address });
    });
  };
  onRead(router, path, serve, server);
}

/** Registers a handler of GET and HEAD; other methods are 405. */
export function onRead(router: Router, path: string, serve: Handler, { unsent }: Serving): void {
  router.on('get', path, serve);
  router.on('head', path, serve);
  router.on('any', path, (response) => {
    const options = { unsent, isHead: false, header: ['Allow', 'GET, HEAD'] } as const;
    writeError(response, errorAnswer('method_not_allowed'), options);
  });
}

/** The forms of what this process has served, by content: exchanges of one process share them. */
const madeForms = new Map<string, Form[]>();
/** Smaller files are not worth it. */
const COMPRESSED_BYTES_MIN = 1_024;

/** The compressed forms, then the file itself. */
function formsOf(file: StaticFile): Form[] {
  const hash = createHash('sha256').update(file.bytes).digest('base64url');
  let forms = madeForms.get(hash);
  if (forms !== undefined) return forms;
  const form = (coding: Coding, bytes: Buffer): Form => ({
    coding,
    bytes,
    etag: `"${coding === '' ? hash : `${hash}-${coding}`}"`,
  });
  forms = compressedFormsOf(file).map(([coding, bytes]) => form(coding, bytes));
  forms.push(form('', file.bytes));
  madeForms.set(hash, forms);
  return forms;
}

function compressedFormsOf({ bytes, contentType, compressed }: StaticFile) {
  if (compressed !== undefined) return compressed;
  const isText = !contentType.startsWith('image/') || contentType.startsWith('image/svg');
  if (!isText || bytes.length < COMPRESSED_BYTES_MIN) return [];
  return CODINGS.map((coding) => [coding, compress(bytes, coding)] as const);
}

function accepted(forms: readonly Form[], acceptEncoding: string): Form {
  const offered = forms.map(({ coding }) => coding);
  const { coding } = acceptedCoding(acceptEncoding, offered);
  return forms.find((form) => form.coding === coding)!;
}

function writeFileHead(
  response: uWS.HttpResponse,
  file: StaticFile,
  form: Form,
  { isKnown, hasForms }: { isKnown: boolean; hasForms: boolean },
): void {
  if (isKnown) response.writeStatus('304 Not Modified');
  else response.writeHeader('Content-Type', file.contentType);
  if (!isKnown && form.coding !== '') response.writeHeader('Content-Encoding', form.coding);
  if (hasForms) response.writeHeader('Vary', 'Accept-Encoding');
  response.writeHeader('ETag', form.etag);
  response.writeHeader('Cache-Control', file.cacheControl ?? 'no-cache');
  response.writeHeader('X-Content-Type-Options', 'nosniff');
  for (const [name, value] of file.headers) response.writeHeader(name, value);
}
