/** The thread that makes tags of answers and compresses them, below the other threads' priority. */
import { parentPort } from 'node:worker_threads';
import { sharedBytes } from '../../../persistence/storage/shared-bytes.js';
import { lowerPriority } from '../../../persistence/storage/thread-priority.js';
import type { CodingAnswer, CodingTask } from './coding-messages.js';
import { compress } from './compress.js';
import { bodyTag, namesTag } from './entity-tags.js';

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
