/**
 * Finishes snapshots in their own thread: reading one back restores an engine, which takes seconds
 * with a million users, and the follower must continue.
 */
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../../storage/program-folder.js';
import { removeUnfinished } from './file.js';

/** The thread's only message: the snapshot's hash, or why there is no snapshot. */
export type SnapshotResult = { hash: string } | { problem: string };

export interface SnapshotFinishing {
  /**
   * Resolves with the snapshot's hash when it is on disk under its name; rejects if that failed.
   */
  done: Promise<string>;
  /** Terminates the thread, and removes the temporary file. */
  cancel(): Promise<void>;
}

export function finishInThread(path: string): SnapshotFinishing {
  const worker = new Worker(compiledFile('persistence/recovery/snapshot/worker.js'), {
    workerData: path,
  });
  const done = new Promise<string>((resolve, reject) => {
    worker.on('message', (result: SnapshotResult) =>
      'hash' in result ? resolve(result.hash) : reject(new Error(result.problem)),
    );
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('the thread that reads it back has ended')));
  });
  const cancel = async () => {
    await worker.terminate();
    removeUnfinished(path);
  };
  return { done, cancel };
}
