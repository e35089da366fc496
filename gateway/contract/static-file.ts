/**
 * A static file: bytes in memory for the life of the process, never copied for a connection, with
 * an ETag. For fair use, it counts as a number of reads of its address that grows with its size.
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
}

/** Counts as one read: writing this much takes about as long as an ordinary read. */
const BYTES_PER_READ = 64 * 1024;

/** Answers GET and HEAD of the path with the file, and other methods with 405. */
export function serveFile(router: Router, path: string, file: StaticFile, gateway: Gateway): void {
  const etag = `"${createHash('sha256').update(file.bytes).digest('base64url')}"`;
  const { fairUse, unsent } = gateway;
  const serve = (response: uWS.HttpResponse, request: Request, raw: uWS.HttpRequest) => {
    const isHead = request.method === 'head';
    const isKnown = names(raw.getHeader('if-none-match'), etag);
    const address = request.addressFrom(response);
    const reads = isKnown || isHead ? 1 : Math.ceil(file.bytes.byteLength / BYTES_PER_READ);
    const count = Math.min(reads, fairUse.most('reads', 'address'));
    const result = fairUse.take('reads', 'address', address, count);
    response.cork(() => {
      if (result !== null && !result.granted) {
        const { error, retryAfter } = rateLimited(result.waitMs);
        writeError(response, error, { unsent, isHead, header: ['Retry-After', retryAfter] });
        return;
      }
      writeFileHead(response, file, etag, isKnown);
      writeCrossOrigin(response, request.origin, gateway.config.siteOrigins);
      if (isKnown) writeLast(response, '');
      else if (isHead) writeLast(response, '', file.bytes.byteLength);
      else unsent.sendShared(response, file.bytes, { address });
    });
  };
  router.on('get', path, serve);
  router.on('head', path, serve);
  router.on('any', path, (response) => {
    const options = { unsent, isHead: false, header: ['Allow', 'GET, HEAD'] } as const;
    writeError(response, errorAnswer('method_not_allowed'), options);
  });
}

function writeFileHead(
  response: uWS.HttpResponse,
  file: StaticFile,
  etag: string,
  isKnown: boolean,
): void {
  if (isKnown) response.writeStatus('304 Not Modified');
  else response.writeHeader('Content-Type', file.contentType);
  response.writeHeader('ETag', etag);
  response.writeHeader('Cache-Control', 'no-cache');
  response.writeHeader('X-Content-Type-Options', 'nosniff');
  for (const [name, value] of file.headers) response.writeHeader(name, value);
}

/** Whether If-None-Match contains the ETag, which a proxy may have made weak. */
function names(header: string, etag: string): boolean {
  return (
    header === '*' || header.split(',').some((part) => part.trim().replace(/^W\//, '') === etag)
  );
}
