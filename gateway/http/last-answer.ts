/**
 * The last answer of a connection: one that has no body, or after which nobody could tell where the next request begins.
 *
 * uWebSockets.js tells how much of an answer is left to send only where there is a body. Without one it would keep the heads of any
 * number of answers for a client that does not read, and an answer to HEAD would keep its connection open for ever, because to
 * uWebSockets.js it never ends. So these are written by hand, as the value of a header, and the connection is closed behind them, with
 * whatever a client that does not read has left.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { httpDate } from '../time/clock.js';

/** The operating system takes as much at once, whatever the client reads. */
const SMALL_BYTES = 14 * 1024;
/** How long a client may take to read more than that. One that has read it all closes the connection itself. */
const LARGE_MS = 10_000;

/**
 * Ends the head, writes the body (empty: none), and has the connection closed once this turn's writes are with the operating
 * system; behind a large body, when the client closes it, or after {@link LARGE_MS}. To be called corked, after the other headers. `length`: what Content-Length says where there is no body; null: there is no
 * such header.
 */
export function writeLast(
  response: HttpResponse,
  body: string | Uint8Array,
  length: number | null = null,
): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const close = () => response.close();
  if (bytes.byteLength > SMALL_BYTES) {
    // uWebSockets.js goes on writing. To it the answer never ends, so it takes no other request meanwhile.
    const timer = setTimeout(close, LARGE_MS);
    response.onAborted(() => clearTimeout(timer));
  } else {
    const immediate = setImmediate(close);
    response.onAborted(() => clearImmediate(immediate));
  }
  response.writeHeader('Connection', endOf(bytes, length));
}

/** A line break follows that uWebSockets.js writes after each header: it ends the head, or is white space behind the body. */
function endOf(body: Uint8Array, length: number | null): Uint8Array {
  const lines = ['close', `Date: ${httpDate()}`];
  if (body.byteLength > 0) lines.push(`Content-Length: ${body.byteLength + LINE_BREAK.length}`, '');
  else if (length !== null) lines.push(`Content-Length: ${length}`);
  return Buffer.concat([Buffer.from(lines.join(LINE_BREAK) + LINE_BREAK), body]);
}

const LINE_BREAK = '\r\n';
