/**
 * A thread that checks whole segments: it takes the next one that no thread has taken, until there
 * is none. Below the priority of the thread that replays.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { fileHash } from '../../storage/files.js';
import { openReadOnly } from '../../storage/read-only.js';
import { lowerPriority } from '../../storage/thread-priority.js';
import { SegmentReader } from '../segment-reader.js';
import {
  type Checked,
  failureOf,
  type SegmentAnswer,
  type SegmentTask,
  type ThreadTasks,
} from './messages.js';

const PRIORITY_STEPS = 5;

async function checked<Value>(work: () => Promise<Value> | Value): Promise<Checked<Value>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

async function check({ segment, previous, mark, isSealed }: SegmentTask): Promise<SegmentAnswer> {
  const connect = async () => (await openReadOnly(segment.path)).database;
  const reader = new SegmentReader(connect, segment, mark);
  reader.head = { previous, previousFile: null };
  const answer: SegmentAnswer = {
    number: segment.number,
    end: await checked(() => reader.provenEnd()),
    structure: null,
    fileHash: null,
  };
  const { end } = answer;
  if ('value' in end)
    answer.structure = await checked(async () => {
      await reader.checkStructure(end.value.sequence);
      return null;
    });
  await reader.release();
  if (isSealed && answer.structure !== null && 'value' in answer.structure)
    answer.fileHash = await checked(() => fileHash(segment.path));
  return answer;
}

lowerPriority(PRIORITY_STEPS);
const { tasks, next } = workerData as ThreadTasks;
const taken = new Int32Array(next);
for (let i = Atomics.add(taken, 0, 1); i < tasks.length; i = Atomics.add(taken, 0, 1))
  parentPort!.postMessage(await check(withBuffers(tasks[i]!)));

/** A Buffer arrives as a Uint8Array. */
function withBuffers(task: SegmentTask): SegmentTask {
  const { previous, mark } = task;
  return {
    ...task,
    previous: { ...previous, hash: Buffer.from(previous.hash) },
    mark: mark === null ? null : { ...mark, hash: Buffer.from(mark.hash) },
  };
}
