/**
 * Collecting a request's body, bounded. What is over the limit is read on and dropped, so that the client is still there
 * to hear the answer; one that sends without end is cut off.
 */

import type { HttpResponse } from 'uWebSockets.js';
import { isUtf8 } from 'node:buffer';
import { BODY_BYTES_MAX } from './incoming.js';

/** From here on a body that is too large is not even read any more. */
const DROPPED_BYTES_MAX = 16 * BODY_BYTES_MAX;

/** The text of a body that has come in whole, or why there is none. */
export interface ReceivedBody {
  text: string;
  fault: 'body_too_large' | 'not_utf8' | null;
  /** Whether the client is still sending. */
  unread: boolean;
}

/** Calls `done` once, when the body has come in, within uWebSockets.js's callback. Not if the client leaves. */
export function receiveBody(response: HttpResponse, done: (body: ReceivedBody) => void): void {
  let kept: Buffer | null = null;
  let length = 0;
  let finished = false;
  response.onData((data, isLast) => {
    if (finished) return;
    length += data.byteLength;
    const tooLarge = length > BODY_BYTES_MAX;
    if (tooLarge) kept = null;
    // The memory is uWebSockets.js's again after this callback: keep a copy of what is not the last piece.
    else if (!isLast) kept = Buffer.concat([kept ?? EMPTY, Buffer.from(data)]);
    if (!isLast && length <= DROPPED_BYTES_MAX) return;
    finished = true;
    if (tooLarge) done({ text: '', fault: 'body_too_large', unread: !isLast });
    else done(decoded(kept === null ? Buffer.from(data) : Buffer.concat([kept, Buffer.from(data)])));
  });
}

const EMPTY = Buffer.alloc(0);

function decoded(bytes: Buffer): ReceivedBody {
  return isUtf8(bytes)
    ? { text: bytes.toString('utf8'), fault: null, unread: false }
    : { text: '', fault: 'not_utf8', unread: false };
}
