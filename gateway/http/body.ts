/**
 * Receives a request's body, up to a limit. The rest of a larger body is read and dropped, so that
 * the client still receives the answer; a client that sends far too much is cut off.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { isUtf8 } from 'node:buffer';
import { colonCount } from '../json/repeated-key.js';
import { BODY_BYTES_MAX } from './request.js';

/** Above this size, a body is not even read and dropped. */
const DROPPED_BYTES_MAX = 16 * BODY_BYTES_MAX;
/** A body in more pieces counts as too large; no legitimate client sends one. */
const PIECES_MAX = 4_096;

/** The text of a complete body, or why there is none. */
export interface ReceivedBody {
  text: string;
  /** Number of colons in the text. */
  colons: number;
  fault: 'body_too_large' | 'not_utf8' | null;
  /** Whether the client is still sending. */
  unread: boolean;
}

/** Calls `done` in uWebSockets.js's callback for the last piece; never if the client leaves. */
export function receiveBody(response: HttpResponse, done: (body: ReceivedBody) => void): void {
  // Doubles when full, so a body in tiny pieces costs no more than one in large pieces.
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
      // uWebSockets.js reuses the memory of `data` after this callback.
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
