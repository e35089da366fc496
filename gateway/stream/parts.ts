/**
 * Splits large server messages into numbered parts, whose joined texts are the message.
 *
 * Invariant: no WebSocket message sent is larger than {@link OUTGOING_BYTES_MAX}.
 */
import { partText } from './channels/message-text.js';

/** Below the default limits of all common client libraries, the smallest of which is 1 MiB. */
export const OUTGOING_BYTES_MAX = 256 * 1024;
/** A character takes up to three bytes in UTF-8, or two if escaped, plus the part's own fields. */
const PART_CHARACTERS = 80 * 1024;

export function partsOf<Text extends string | Uint8Array>(
  message: Text,
): readonly (Text | string)[] {
  // A UTF-16 unit has at most three bytes, so most texts need no measuring.
  if (message.length * 3 <= OUTGOING_BYTES_MAX) return [message];
  if (Buffer.byteLength(message) <= OUTGOING_BYTES_MAX) return [message];
  const text = typeof message === 'string' ? message : Buffer.from(message).toString('utf8');
  const slices: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = from + PART_CHARACTERS;
    if (isSecondHalf(text.charCodeAt(to))) to--;
    slices.push(text.slice(from, to));
    from = to;
  }
  return slices.map((slice, i) => partText(i + 1, slices.length, slice));
}

/** The second half of a surrogate pair. NaN at the end of the text. */
function isSecondHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
