/** Entity tags (RFC 9110, 8.8.3), weak: the sequence and time at an answer's end do not count. */
import { createHash } from 'node:crypto';

/** 132 bits, so different contents do not share a tag. */
const TAG_CHARACTERS = 22;
/** The end of every JSON answer. */
const END = /,"sequence":\d+,"atMs":\d+\}$/;
/** Characters to search, more than END can match. */
const END_CHARACTERS = 64;

export function hashTag(contentHash: string): string {
  return `W/"${contentHash.slice(0, TAG_CHARACTERS)}"`;
}

export function bodyTag(body: Uint8Array): string {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const end = END.exec(bytes.toString('latin1', Math.max(0, bytes.length - END_CHARACTERS)));
  const content = end === null ? bytes : bytes.subarray(0, bytes.length - end[0].length);
  return hashTag(createHash('sha256').update(content).digest('base64url'));
}

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
