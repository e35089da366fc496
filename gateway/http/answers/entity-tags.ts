/**
 * Entity tags (RFC 9110, 8.8.3). Answers have weak tags: equal tags mean equal content, but the
 * sequence and the time at the end of an answer may differ, because every command changes them.
 */
import { createHash } from 'node:crypto';

/** 132 bits, so different contents never share a tag. */
const TAG_CHARACTERS = 22;
/** How every answer in JSON ends. */
const END = /,"sequence":\d+,"atMs":\d+\}$/;
/** Longer than every match of END. */
const END_CHARACTERS = 64;

/** The tag of an answer whose content has this SHA-256, in base64url. */
export function hashTag(contentHash: string): string {
  return `W/"${contentHash.slice(0, TAG_CHARACTERS)}"`;
}

/** The tag of an answer with this body, without the sequence and the time at its end. */
export function bodyTag(body: Uint8Array): string {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const end = END.exec(bytes.toString('latin1', Math.max(0, bytes.length - END_CHARACTERS)));
  const content = end === null ? bytes : bytes.subarray(0, bytes.length - end[0].length);
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
