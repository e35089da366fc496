/**
 * Collecting a request's body, bounded. What is over the limit is read on and dropped, so that the client is still there
 * to hear the answer; one that sends without end is cut off.
 */

import type { HttpResponse } from 'uWebSockets.js';
import { isUtf8 } from 'node:buffer';
import { colonCount } from '../json/repeated-key.js';
import { BODY_BYTES_MAX } from './request.js';

/** From here on a body that is too large is not even read any more. */
const DROPPED_BYTES_MAX = 16 * BODY_BYTES_MAX;
/** No honest client cuts a body into more pieces; it counts as too large. */
const PIECES_MAX = 4_096;

/** The text of a body that has come in whole, or why there is none. */
export interface ReceivedBody {
  text: string;
  /** How many colons the text has. */
  colons: number;
  fault: 'body_too_large' | 'not_utf8' | null;
  /** Whether the client is still sending. */
  unread: boolean;
}

/** Calls `done` once, when the body has come in, within uWebSockets.js's callback. Not if the client leaves. */
export function receiveBody(response: HttpResponse, done: (body: ReceivedBody) => void): void {
  // Doubles as it fills, so that a body in tiny pieces costs no more than one in large ones.
  let kept = EMPTY;
  let length = 0;
  let pieces = 0;
  let finished = false;
  response.onData((data, isLast) => {
    if (finished) return;
    const start = length;
    length += data.byteLength;
    pieces++;
    const tooLarge = length > BODY_BYTES_MAX || pieces > PIECES_MAX;
    if (!tooLarge && !(isLast && start === 0)) {
      // The memory is uWebSockets.js's again after this callback.
      if (length > kept.length) kept = grown(kept, start, length);
      kept.set(new Uint8Array(data), start);
    }
    if (!isLast && length <= DROPPED_BYTES_MAX && pieces <= PIECES_MAX) return;
    finished = true;
    if (tooLarge) done({ text: '', colons: 0, fault: 'body_too_large', unread: !isLast });
    else done(decoded(start === 0 ? Buffer.from(data) : kept.subarray(0, length)));
  });
}

const EMPTY: Buffer = Buffer.alloc(0);

function grown(kept: Buffer, used: number, needed: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.min(BODY_BYTES_MAX, Math.max(1_024, 2 * needed)));
  kept.copy(larger, 0, 0, used);
  return larger;
}

function decoded(bytes: Buffer): ReceivedBody {
  return isUtf8(bytes)
    ? { text: bytes.toString('utf8'), colons: colonCount(bytes), fault: null, unread: false }
    : { text: '', colons: 0, fault: 'not_utf8', unread: false };
}
