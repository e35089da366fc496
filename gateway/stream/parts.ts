/**
 * Messages of the server that are too large for one WebSocket message travel in numbered parts,
 * which follow one another: their texts, joined, are the message.
 *
 * Always holds: no WebSocket message that is sent is larger than {@link OUTGOING_BYTES_MAX}.
 */
import { partText } from './channels/message-text.js';

/** Below the default limit of every common client library; the smallest is 1 MiB. */
export const OUTGOING_BYTES_MAX = 256 * 1024;
/** Each may take three bytes in UTF-8, or two if it is escaped, beside the fields of the part. */
const PART_CHARACTERS = 80 * 1024;

/** The WebSocket messages that a message travels as: itself, or its parts. */
export function partsOf<Text extends string | Uint8Array>(
  message: Text,
): readonly (Text | string)[] {
  // A character has at most three bytes, so nearly all texts need not be measured.
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

/** Of a character that UTF-16 needs two units for. NaN: the text has ended. */
function isSecondHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
