/**
 * A file that is served as it is: bytes in memory from start to end of the process, with an ETag, so that a copy is only sent once.
 *
 * The bytes are never copied for a connection, however slowly it reads. For fair use a file counts as reads of its address, the more
 * the larger it is.
 */
import type * as uWS from 'uWebSockets.js';
import { createHash } from 'node:crypto';
import type { Door } from '../http/door.js';
import { errorAnswer, rateLimited } from '../http/errors.js';
import type { Gateway } from '../http/gateway.js';
import { writeLast } from '../http/last-answer.js';
import type { Request } from '../http/request.js';
import { requestAddress } from '../http/request-address.js';
import { writeError } from '../http/write-error.js';

export interface StaticFile {
  contentType: string;
  bytes: Buffer;
  /** Besides the content's own, names and values. */
  headers: readonly (readonly [string, string])[];
}

/** What counts as one read: handing it to the operating system takes about as long as an ordinary one. */
const BYTES_PER_READ = 64 * 1024;

/** Answers GET and HEAD of the path with the file, and every other method with 405. */
export function serveFile(door: Door, path: string, file: StaticFile, gateway: Gateway): void {
  const etag = `"${createHash('sha256').update(file.bytes).digest('base64url')}"`;
  const { fairUse, unsent } = gateway;
  const serve = (
    response: uWS.HttpResponse,
    request: uWS.HttpRequest,
    incoming: Request,
    isHead: boolean,
  ) => {
    const isKnown = names(request.getHeader('if-none-match'), etag);
    const address = requestAddress(response, incoming);
    const reads = isKnown || isHead ? 1 : Math.ceil(file.bytes.byteLength / BYTES_PER_READ);
    const share = fairUse.take(
      'reads',
      'address',
      address,
      Math.min(reads, fairUse.most('reads', 'address')),
    );
    response.cork(() => {
      if (share !== null && !share.granted) {
        const { error, retryAfter } = rateLimited(share.waitMs);
        writeError(response, error, { unsent, isHead, header: ['Retry-After', retryAfter] });
        return;
      }
      writeFileHead(response, file, etag, isKnown);
      if (isKnown) writeLast(response, '');
      else if (isHead) writeLast(response, '', file.bytes.byteLength);
      else unsent.sendShared(response, file.bytes, { address });
    });
  };
  door.on('get', path, (response, request, incoming) => serve(response, request, incoming, false));
  door.on('head', path, (response, request, incoming) => serve(response, request, incoming, true));
  door.on('any', path, (response) => {
    writeError(response, errorAnswer('method_not_allowed'), {
      unsent,
      isHead: false,
      header: ['Allow', 'GET, HEAD'],
    });
  });
}

function writeFileHead(response: uWS.HttpResponse, file: StaticFile, etag: string, isKnown: boolean): void {
  if (isKnown) response.writeStatus('304 Not Modified');
  else response.writeHeader('Content-Type', file.contentType);
  response.writeHeader('ETag', etag);
  response.writeHeader('Cache-Control', 'no-cache');
  response.writeHeader('X-Content-Type-Options', 'nosniff');
  for (const [name, value] of file.headers) response.writeHeader(name, value);
}

/** Whether the header If-None-Match names the ETag; a proxy may have made it a weak one. */
function names(header: string, etag: string): boolean {
  return header === '*' || header.split(',').some((part) => part.trim().replace(/^W\//, '') === etag);
}
