/**
 * The thread that writes the journal (commit-thread.ts): one message in, one out. The records of a
 * batch are in shared memory, which is not changed before the answer.
 */
import { parentPort, workerData } from 'node:worker_threads';
import {
  type CommitThreadData,
  type FromCommitThread,
  problemOf,
  type ToCommitThread,
} from './commit-thread.js';
import { Journal } from './journal.js';

const port = parentPort!;
const { folder, durability, found, memory } = workerData as CommitThreadData;
const bytes = Buffer.from(memory);
const { end } = found;

function answer(problem: FromCommitThread): void {
  port.postMessage(problem);
}

function open(): Promise<Journal> {
  // A message turns a Buffer into a Uint8Array.
  const there = { ...found, end: { ...end, hash: Buffer.from(end.hash) } };
  return Journal.open(folder, durability, there, null);
}

async function close(journal: Journal): Promise<void> {
  try {
    await journal.close();
    answer(null);
  } catch (error) {
    answer(problemOf(error));
  }
  // Without an open port, the thread ends.
  port.close();
}

function serve(journal: Journal): void {
  port.on('message', ({ batch, recordBytes }: ToCommitThread) => {
    if (batch === null) {
      void close(journal);
      return;
    }
    try {
      journal.append({ ...batch, records: bytes.subarray(0, recordBytes) }, (error) =>
        answer(error === null ? null : problemOf(error)),
      );
    } catch (error) {
      answer(problemOf(error));
    }
  });
}

try {
  serve(await open());
  answer(null);
} catch (error) {
  answer(problemOf(error));
  port.close();
}
