/** Errors on paths that are not routes, such as a refused WebSocket or an unsupported method. */
import type { HttpResponse } from 'uWebSockets.js';
import { addressKey } from '../../access/fair-use/addresses.js';
import { Bill } from '../../access/fair-use/fair-use.js';
import { type ErrorAnswer, rateLimited } from '../../commands/errors.js';
import type { Serving } from '../gateway.js';
import type { Request } from '../request.js';
import { writeAndClose } from './closing-answer.js';
import { JSON_TYPE, writeHead, writeStatus } from './response-head.js';
import type { UnsentAnswers } from './unsent-answers.js';

interface ErrorOptions {
  unsent: UnsentAnswers;
  isHead: boolean;
  isLast?: boolean;
  header?: readonly [string, string] | null;
}

/** If the address cannot pay, answers with an error and returns false. Call corked. */
export function chargeReads(
  { fairUse, unsent }: Pick<Serving, 'fairUse' | 'unsent'>,
  response: HttpResponse,
  request: Request,
  reads = 1,
): boolean {
  const address = request.addressFrom(response);
  const paid = fairUse.charge('reads', new Bill({ address }), reads);
  if (paid === null || paid.granted) return true;
  const { error, retryAfter } = rateLimited(paid.waitMs);
  const isHead = request.method === 'head';
  const isLast = fairUse.countFree(address);
  writeError(response, error, { unsent, isHead, isLast, header: ['Retry-After', retryAfter] });
  return false;
}

/** Call corked. */
export function writeError(
  response: HttpResponse,
  { status, text }: ErrorAnswer,
  { unsent, isHead, isLast = false, header = null }: ErrorOptions,
): void {
  writeStatus(response, status);
  writeHead(response, JSON_TYPE, false);
  if (header !== null) response.writeHeader(...header);
  if (isHead) writeAndClose(response, '', Buffer.byteLength(text));
  else if (isLast) writeAndClose(response, text);
  else unsent.send(response, text, { address: addressKey(response.getRemoteAddress()) });
}
