/**
 * The last answer on a connection: one without a body, or one after which the start of the next
 * request is unknown.
 *
 * uWebSockets.js only reports how much of an answer is unsent if the answer has a body. Without
 * one, it would buffer any number of heads for a client that does not read; and it considers an
 * answer to HEAD never finished, so its connection would stay open forever. These answers are
 * therefore written by hand, as the value of a header, and the connection is closed after them,
 * with any unread rest.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { httpDate } from '../time/clock.js';

/**
 * Ends the head, writes the body (empty: none), and closes the connection once this turn's writes
 * are with the operating system. To be called corked, after the other headers. `length`: the value
 * of Content-Length if there is no body; null: no such header.
 */
export function writeLast(
  response: HttpResponse,
  body: string | Uint8Array,
  length: number | null = null,
): void {
  let isClosed = false;
  response.onAborted(() => {
    isClosed = true;
  });
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  response.writeHeader('Connection', endOf(bytes, length));
  setImmediate(() => {
    if (!isClosed) response.close();
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
