/**
 * Writes the last answer on a connection: an answer without a body, or an answer after which the
 * start of the next request is unknown. uWebSockets.js reports unsent bytes only for answers with a
 * body. It would buffer any number of heads for a client that does not read, and never considers an
 * answer to HEAD finished. So these answers are written by hand, as the value of a header, and the
 * connection is closed.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { bytesOf } from '../../json/text-buffers.js';
import { httpDate } from '../../observe/clock.js';

/** The operating system takes this much at once, even if the client does not read. */
const SMALL_BYTES = 14 * 1024;
/** Time to read a larger body. A client that has read it all closes the connection. */
const LARGE_MS = 10_000;

/**
 * Ends the head, writes the body (empty: none), and closes the connection: after a small body once
 * this turn's writes are with the operating system, after a large one when the client closes it or
 * after {@link LARGE_MS}. Call corked, after the other headers. `length`: the value of
 * Content-Length if there is no body; null: no such header.
 */
export function writeLast(
  response: HttpResponse,
  body: string | Uint8Array,
  length: number | null = null,
): void {
  const bytes = bytesOf(body);
  const close = () => response.close();
  if (bytes.byteLength > SMALL_BYTES) {
    // uWebSockets.js continues to write. It considers the answer unfinished, so it takes no other
    // request meanwhile.
    const timer = setTimeout(close, LARGE_MS);
    response.onAborted(() => clearTimeout(timer));
  } else {
    const immediate = setImmediate(close);
    response.onAborted(() => clearImmediate(immediate));
  }
  response.writeHeader('Connection', endOf(bytes, length));
}

/**
 * Answers a request whose end is unknown, in a later turn: if further bytes arrive before the
 * answer, uWebSockets.js closes the connection. `write` is called corked, unless the client has
 * left; it must end with {@link writeLast} or close the connection.
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

/** uWebSockets.js appends a line break, which ends the head or is white space after the body. */
function endOf(body: Uint8Array, length: number | null): Uint8Array {
  const lines = ['close', `Date: ${httpDate()}`];
  if (body.byteLength > 0) lines.push(`Content-Length: ${body.byteLength + LINE_BREAK.length}`, '');
  else if (length !== null) lines.push(`Content-Length: ${length}`);
  return Buffer.concat([Buffer.from(lines.join(LINE_BREAK) + LINE_BREAK), body]);
}

const LINE_BREAK = '\r\n';
