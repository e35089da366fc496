/**
 * A static file: bytes in memory for the life of the process, never copied for a connection, with
 * an ETag. A file with compressed forms is sent in the first one that the client accepts. For fair
 * use, it counts as a number of reads of its address that grows with its size.
 */
import type * as uWS from 'uWebSockets.js';
import { createHash } from 'node:crypto';
import { writeCrossOrigin } from '../auth/cross-origin.js';
import { errorAnswer, rateLimited } from '../http/errors.js';
import type { Gateway } from '../http/gateway.js';
import { writeLast } from '../http/last-answer.js';
import type { Request } from '../http/request.js';
import type { Router } from '../http/router.js';
import { writeError } from '../http/write-error.js';

export interface StaticFile {
  contentType: string;
  bytes: Buffer;
  /** Additional headers, names and values. */
  headers: readonly (readonly [string, string])[];
  /** The same bytes compressed, by content coding, the best first. */
  compressed?: readonly (readonly ['br' | 'gzip', Buffer])[];
  /** The standard is no-cache: a cache asks with the ETag each time. */
  cacheControl?: string;
}

/** One form of a file, with its ETag. */
interface Form {
  /** Empty: not compressed. */
  coding: string;
  bytes: Buffer;
  etag: string;
}

/** Counts as one read: writing this much takes about as long as an ordinary read. */
const BYTES_PER_READ = 64 * 1024;

/** Answers GET and HEAD of the path with the file, and other methods with 405. */
export function serveFile(router: Router, path: string, file: StaticFile, gateway: Gateway): void {
  serveChoice(router, path, { files: [file], choose: () => 0 }, gateway);
}

export interface FileChoice {
  files: readonly StaticFile[];
  /** The index of the file that the request asks for. */
  choose: (raw: uWS.HttpRequest) => number;
}

/** The same, with a file chosen by the request. */
export function serveChoice(
  router: Router,
  path: string,
  { files, choose }: FileChoice,
  gateway: Gateway,
): void {
  const forms = files.map(formsOf);
  const { fairUse, unsent } = gateway;
  const serve = (response: uWS.HttpResponse, request: Request, raw: uWS.HttpRequest) => {
    const chosen = choose(raw);
    const file = files[chosen]!;
    const form = accepted(forms[chosen]!, raw.getHeader('accept-encoding'));
    const isHead = request.method === 'head';
    const isKnown = names(raw.getHeader('if-none-match'), form.etag);
    const address = request.addressFrom(response);
    const reads = isKnown || isHead ? 1 : Math.ceil(form.bytes.byteLength / BYTES_PER_READ);
    const count = Math.min(reads, fairUse.most('reads', 'address'));
    const result = fairUse.take('reads', 'address', address, count);
    response.cork(() => {
      if (result !== null && !result.granted) {
        const { error, retryAfter } = rateLimited(result.waitMs);
        writeError(response, error, { unsent, isHead, header: ['Retry-After', retryAfter] });
        return;
      }
      writeFileHead(response, file, form, isKnown);
      writeCrossOrigin(response, request.origin, gateway.config.siteOrigins);
      if (isKnown) writeLast(response, '');
      else if (isHead) writeLast(response, '', form.bytes.byteLength);
      else unsent.sendShared(response, form.bytes, { address });
    });
  };
  router.on('get', path, serve);
  router.on('head', path, serve);
  router.on('any', path, (response) => {
    const options = { unsent, isHead: false, header: ['Allow', 'GET, HEAD'] } as const;
    writeError(response, errorAnswer('method_not_allowed'), options);
  });
}

/** The compressed forms, then the file itself. */
function formsOf({ bytes, compressed = [] }: StaticFile): Form[] {
  const hash = createHash('sha256').update(bytes).digest('base64url');
  const form = ([coding, content]: readonly [string, Buffer]): Form => ({
    coding,
    bytes: content,
    etag: `"${coding === '' ? hash : `${hash}-${coding}`}"`,
  });
  return [...compressed, ['', bytes] as const].map(form);
}

function accepted(forms: readonly Form[], acceptEncoding: string): Form {
  const codings = acceptEncoding
    .split(',')
    .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
    .map((part) => part.split(';')[0]!.trim().toLowerCase());
  return forms.find(({ coding }) => coding === '' || codings.includes(coding))!;
}

function writeFileHead(
  response: uWS.HttpResponse,
  file: StaticFile,
  form: Form,
  isKnown: boolean,
): void {
  if (isKnown) response.writeStatus('304 Not Modified');
  else response.writeHeader('Content-Type', file.contentType);
  if (!isKnown && form.coding !== '') response.writeHeader('Content-Encoding', form.coding);
  if (file.compressed !== undefined) response.writeHeader('Vary', 'Accept-Encoding');
  response.writeHeader('ETag', form.etag);
  response.writeHeader('Cache-Control', file.cacheControl ?? 'no-cache');
  response.writeHeader('X-Content-Type-Options', 'nosniff');
  for (const [name, value] of file.headers) response.writeHeader(name, value);
}

/** Whether If-None-Match contains the ETag, which a proxy may have made weak. */
function names(header: string, etag: string): boolean {
  return (
    header === '*' || header.split(',').some((part) => part.trim().replace(/^W\//, '') === etag)
  );
}
