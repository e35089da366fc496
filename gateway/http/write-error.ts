/** An error as the answer to a request that no route serves: a WebSocket that is refused, a method that a file does not have. */
import type { HttpResponse } from 'uWebSockets.js';
import type { ErrorAnswer } from './errors.js';
import { JSON_TYPE, writeHead, writeStatus } from './response-head.js';

/** `header`: a further one, name and value. */
export function writeError(
  response: HttpResponse,
  { status, text }: ErrorAnswer,
  header: readonly [string, string] | null = null,
): void {
  writeStatus(response, status);
  writeHead(response, JSON_TYPE, false);
  if (header !== null) response.writeHeader(...header);
  response.end(text);
}
