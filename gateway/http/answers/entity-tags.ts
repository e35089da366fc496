/**
 * Entity tags (RFC 9110, 8.8.3). Those of answers are weak: two answers with the same tag say the
 * same, but differ in the sequence at which it is true, which changes with every command.
 */
import { createHash } from 'node:crypto';

/** 128 bits: no two contents ever have the same. */
const TAG_CHARACTERS = 22;
/** More than the digits of a sequence and the closing brace. */
const SEQUENCE_CHARACTERS = 22;
/** How every answer in JSON ends, but for the sequence's digits. */
const END = ',"sequence":';

/** The tag of an answer whose content has this SHA-256, in base64url. */
export function hashTag(contentHash: string): string {
  return `W/"${contentHash.slice(0, TAG_CHARACTERS)}"`;
}

/** The tag of an answer with this body: of all before the sequence, with which JSON ends. */
export function bodyTag(body: Uint8Array): string {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const end = bytes.lastIndexOf(END);
  const isEnd = end !== -1 && bytes.length - end < END.length + SEQUENCE_CHARACTERS;
  const content = isEnd ? bytes.subarray(0, end) : bytes;
  return hashTag(createHash('sha256').update(content).digest('base64url'));
}

/** Whether If-None-Match contains the tag, by weak comparison. */
export function namesTag(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch === '') return false;
  const opaque = withoutWeakness(tag);
  return (
    ifNoneMatch === '*' ||
    ifNoneMatch.split(',').some((part) => withoutWeakness(part.trim()) === opaque)
  );
}

function withoutWeakness(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
