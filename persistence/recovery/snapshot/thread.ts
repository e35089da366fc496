/**
 * Finishes snapshots in their own thread: reading one back restores an engine, which takes seconds
 * with a million users, and the follower must continue.
 */
import { inThread } from '../../storage/thread.js';
import { removeUnfinished } from './file.js';

export interface SnapshotFinishing {
  /**
   * Resolves with the snapshot's hash when it is on disk under its name; rejects if that failed.
   */
  done: Promise<string>;
  /** Terminates the thread, and removes the temporary file. */
  cancel(): Promise<void>;
}

export function finishInThread(path: string): SnapshotFinishing {
  const { worker, result } = inThread<string>('persistence/recovery/snapshot/worker.js', path);
  const cancel = async () => {
    await worker.terminate();
    removeUnfinished(path);
  };
  return { done: result, cancel };
}
