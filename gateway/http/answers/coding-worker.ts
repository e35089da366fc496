/** Worker thread that tags and compresses answers, at a lower priority than other threads. */
import { parentPort } from 'node:worker_threads';
import { sharedBytes } from '../../../persistence/storage/shared-bytes.js';
import { lowerPriority } from '../../../persistence/storage/thread-priority.js';
import type { Coding } from './accept-encoding.js';
import { compress } from './compress.js';
import { bodyTag, namesTag } from './entity-tags.js';

export interface CodingTask {
  id: number;
  body: Uint8Array;
  tag: string | null;
  ifNoneMatch: string;
  coding: Coding;
}

export interface CodingAnswer {
  id: number;
  tag: string;
  bytes: Uint8Array | null;
}

const PRIORITY_STEPS = 10;

const port = parentPort!;
lowerPriority(PRIORITY_STEPS);

port.on('message', ({ id, body, tag, ifNoneMatch, coding }: CodingTask) => {
  const known = tag ?? bodyTag(body);
  const isKnown = namesTag(ifNoneMatch, known);
  const answer: CodingAnswer = { id, tag: known, bytes: isKnown ? null : body };
  if (!isKnown && coding !== '') answer.bytes = shared(compress(body, coding));
  port.postMessage(answer);
});

function shared(bytes: Uint8Array): Uint8Array {
  const copy = sharedBytes(bytes.length);
  copy.set(bytes);
  return copy;
}
