/** An answer as it travels to a socket thread: status, headers, body. See remote-response.ts. */
import type { HttpResponse } from 'uWebSockets.js';
import { FRAME_HEAD_BYTES, integerAt } from './ring-frames.js';

/**
 * Writes the status and the headers of the frame at `start`, corked. Returns where the body begins.
 */
export function writeFramedHead(response: HttpResponse, bytes: Buffer, start: number): number {
  let count = bytes[start + 2]! | (bytes[start + 3]! << 8);
  let at = start + FRAME_HEAD_BYTES;
  const next = (): Uint8Array => {
    const from = at + 4;
    at = from + integerAt(bytes, at);
    return bytes.subarray(from, at);
  };
  const status = next();
  if (status.length > 0) response.writeStatus(status);
  for (; count > 0; count--) {
    const name = next();
    response.writeHeader(name, next());
  }
  return at;
}
