/** A file that is served as it is: bytes in memory from start to end of the process, with an ETag, so that a copy is only sent once. */
import type * as uWS from 'uWebSockets.js';
import { createHash } from 'node:crypto';
import type { Door } from '../http/door.js';
import { errorAnswer } from '../http/errors.js';
import { endEmpty } from '../http/response-head.js';
import { writeError } from '../http/write-error.js';

export interface StaticFile {
  contentType: string;
  bytes: Buffer;
  /** Besides the content's own, names and values. */
  headers: readonly (readonly [string, string])[];
}

/** Answers GET and HEAD of the path with the file, and every other method with 405. */
export function serveFile(door: Door, path: string, file: StaticFile): void {
  const etag = `"${createHash('sha256').update(file.bytes).digest('base64url')}"`;
  const write = (response: uWS.HttpResponse, isHead: boolean, isKnown: boolean) => {
    // uWebSockets.js insists on this where an answer has no body, although it has been written when the handler returns.
    response.onAborted(() => {});
    response.cork(() => {
      if (isKnown) response.writeStatus('304 Not Modified');
      else response.writeHeader('Content-Type', file.contentType);
      response.writeHeader('ETag', etag);
      response.writeHeader('Cache-Control', 'no-cache');
      response.writeHeader('X-Content-Type-Options', 'nosniff');
      for (const [name, value] of file.headers) response.writeHeader(name, value);
      if (isKnown) endEmpty(response, null, false);
      else if (isHead) endEmpty(response, file.bytes.byteLength, false);
      else response.end(file.bytes);
    });
  };
  const isKnown = (request: uWS.HttpRequest) => names(request.getHeader('if-none-match'), etag);
  door.on('get', path, (response, request) => write(response, false, isKnown(request)));
  door.on('head', path, (response, request) => write(response, true, isKnown(request)));
  door.on('any', path, (response) => {
    writeError(response, errorAnswer('method_not_allowed'), ['Allow', 'GET, HEAD']);
  });
}

/** Whether the header If-None-Match names the ETag; a proxy may have made it a weak one. */
function names(header: string, etag: string): boolean {
  return header === '*' || header.split(',').some((part) => part.trim().replace(/^W\//, '') === etag);
}
