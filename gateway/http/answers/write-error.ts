/**
 * Errors on paths that are not routes: a refused WebSocket, an unsupported method of a static file.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { addressKey } from '../../access/fair-use/addresses.js';
import type { ErrorAnswer } from '../errors.js';
import { writeLast } from './last-answer.js';
import { JSON_TYPE, writeHead, writeStatus } from './response-head.js';
import type { UnsentAnswers } from './unsent-answers.js';

interface ErrorOptions {
  unsent: UnsentAnswers;
  /** HEAD is answered without the body. */
  isHead: boolean;
  /** An additional header, name and value. */
  header?: readonly [string, string] | null;
}

/** To be called corked. */
export function writeError(
  response: HttpResponse,
  { status, text }: ErrorAnswer,
  { unsent, isHead, header = null }: ErrorOptions,
): void {
  writeStatus(response, status);
  writeHead(response, JSON_TYPE, false);
  if (header !== null) response.writeHeader(...header);
  if (isHead) writeLast(response, '', Buffer.byteLength(text));
  else unsent.send(response, text, { address: addressKey(response.getRemoteAddress()) });
}
