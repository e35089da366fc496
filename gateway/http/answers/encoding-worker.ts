/** Worker thread that tags and compresses answers, at a lower priority than other threads. */
import { parentPort } from 'node:worker_threads';
import { sharedBytes } from '../../../persistence/storage/shared-bytes.js';
import { lowerPriority } from '../../../persistence/storage/thread-priority.js';
import type { ContentEncoding } from './accept-encoding.js';
import { compress } from './compress.js';
import { bodyTag, namesTag } from './entity-tags.js';

export interface EncodingTask {
  id: number;
  body: Uint8Array;
  tag: string | null;
  ifNoneMatch: string;
  encoding: ContentEncoding;
}

export interface EncodingResult {
  id: number;
  tag: string;
  bytes: Uint8Array | null;
}

const PRIORITY_STEPS = 10;

const port = parentPort!;
lowerPriority(PRIORITY_STEPS);

port.on('message', ({ id, body, tag, ifNoneMatch, encoding }: EncodingTask) => {
  const known = tag ?? bodyTag(body);
  const isKnown = namesTag(ifNoneMatch, known);
  const answer: EncodingResult = { id, tag: known, bytes: isKnown ? null : body };
  if (!isKnown && encoding !== '') answer.bytes = shared(compress(body, encoding));
  port.postMessage(answer);
});

function shared(bytes: Uint8Array): Uint8Array {
  const copy = sharedBytes(bytes.length);
  copy.set(bytes);
  return copy;
}
