/**
 * Finds a duplicate key in a JSON object. JSON.parse silently uses the last one, while another
 * reader (a proxy, a log) may use the first, so the text is ambiguous.
 *
 * Parsing drops duplicate members, but their colons remain in the text. Unless the text, strings
 * included, has as many colons as the parsed objects have members, it is read again, key by key.
 */

const COLON = 58;
/** More deeply nested values are read key by key. */
const DEPTH_MAX = 8;

export function colonCount(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === COLON) count++;
  return count;
}

/**
 * Returns the path of a duplicate key, such as `operations.3.price`, or `null`. A text read key by
 * key with more than {@link TOKENS_MAX} tokens is refused: the result is the outermost key or index
 * reached. `text` is the valid JSON of `value`, and has `colons` colons.
 */
export function repeatedKey(value: unknown, text: string, colons: number): string | null {
  return memberCount(value, 0) === colons ? null : findRepeatedKey(text);
}

/** The number of members of all objects; NaN, which equals no number, if nested too deeply. */
function memberCount(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depth === DEPTH_MAX) return Number.NaN;
  let count = 0;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) count += memberCount(value[i], depth + 1);
    return count;
  }
  const members = value as Record<string, unknown>;
  // Parsed objects inherit nothing enumerable.
  for (const key in members) {
    count++;
    const member = members[key];
    if (typeof member === 'object') count += memberCount(member, depth + 1);
  }
  return count;
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;
/** More tokens than any text that a schema accepts. */
const TOKENS_MAX = 12_000;

interface Frame {
  /** The keys of an object; `null` for an array. */
  keys: Set<string> | null;
  key: string;
  place: number;
  expectsKey: boolean;
}

function findRepeatedKey(text: string): string | null {
  const frames: Frame[] = [];
  let left = TOKENS_MAX;
  for (const [token] of text.matchAll(TOKENS)) {
    const frame = frames.at(-1);
    if (left-- === 0) return pathOf(frames.slice(0, 1));
    switch (token) {
      case '{':
        frames.push({ keys: new Set(), key: '', place: 0, expectsKey: true });
        break;
      case '[':
        frames.push({ keys: null, key: '', place: 0, expectsKey: false });
        break;
      case '}':
      case ']':
        frames.pop();
        break;
      case ',':
        frame!.place++;
        frame!.expectsKey = frame!.keys !== null;
        break;
      case ':':
        frame!.expectsKey = false;
        break;
      default:
        if (frame?.expectsKey === true && isRepeated(frame, token)) return pathOf(frames);
    }
  }
  return null;
}

/** "a" and "\u0061" are one key. */
function isRepeated(frame: Frame, token: string): boolean {
  frame.key = JSON.parse(token) as string;
  const { size } = frame.keys!;
  return frame.keys!.add(frame.key).size === size;
}

function pathOf(frames: readonly Frame[]): string {
  return frames.map(({ keys, key, place }) => (keys === null ? place : key)).join('.');
}
