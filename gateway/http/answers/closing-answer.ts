/**
 * The last answer on a connection: one without a body, or one after which the next request's start
 * is unknown. For answers without a body, uWebSockets.js reports no unsent bytes, so it would
 * buffer any number of them for a client that does not read, and it never finishes an answer to
 * HEAD. These answers are written by hand, as a header's value, and the connection is closed.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { bytesOf } from '../../json/text-buffers.js';
import { httpDate } from '../../observe/clock.js';

/** The operating system accepts this much immediately, even if the client does not read. */
const SMALL_BYTES = 14 * 1024;
/** Time to read a larger body. The client closes the connection when it has read everything. */
const LARGE_MS = 10_000;

/**
 * Ends the head, writes the body, and closes the connection: after a small body at the end of the
 * turn; after a large one when the client closes, or after {@link LARGE_MS}. Call corked, after all
 * other headers. `length`: the Content-Length if there is no body; `null` omits the header.
 */
export function writeAndClose(
  response: HttpResponse,
  body: string | Uint8Array,
  length: number | null = null,
): void {
  const bytes = bytesOf(body);
  const close = () => response.close();
  if (bytes.byteLength > SMALL_BYTES) {
    // uWebSockets.js keeps writing, and accepts no other request before the answer is finished.
    const timer = setTimeout(close, LARGE_MS);
    response.onAborted(() => clearTimeout(timer));
  } else {
    const immediate = setImmediate(close);
    response.onAborted(() => clearImmediate(immediate));
  }
  response.writeHeader('Connection', endOf(bytes, length));
}

/**
 * In a later turn: uWebSockets.js closes a connection that receives more bytes before the answer.
 * Calls `write` corked, unless the client has left; it must call {@link writeAndClose} or close.
 */
export function answerLater(response: HttpResponse, write: () => void): void {
  let isOver = false;
  response.onAborted(() => {
    isOver = true;
  });
  setImmediate(() => {
    if (!isOver) response.cork(write);
  });
}

/** uWebSockets.js appends a line break: the end of the head, or white space after the body. */
function endOf(body: Uint8Array, length: number | null): Uint8Array {
  const lines = ['close', `Date: ${httpDate()}`];
  if (body.byteLength > 0) lines.push(`Content-Length: ${body.byteLength + LINE_BREAK.length}`, '');
  else if (length !== null) lines.push(`Content-Length: ${length}`);
  return Buffer.concat([Buffer.from(lines.join(LINE_BREAK) + LINE_BREAK), body]);
}

const LINE_BREAK = '\r\n';
