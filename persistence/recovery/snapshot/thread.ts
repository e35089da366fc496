/**
 * Writes snapshots in their own thread: reading one back restores an engine, which takes seconds
 * with a million users, and the follower must continue.
 */
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../../storage/program-folder.js';
import { removeUnfinished, type SnapshotContent } from './file.js';
import { snapshotNameOf } from './folder.js';
import type { SnapshotHeader } from './format.js';

export interface SnapshotTask {
  folder: string;
  header: SnapshotHeader;
  pieces: Uint8Array[];
}

/** The thread's only message: the snapshot's hash, or why there is no snapshot. */
export type SnapshotResult = { hash: string } | { problem: string };

export interface SnapshotWriting {
  /**
   * Resolves with the snapshot's hash when it is on disk under its name; rejects if writing failed.
   */
  done: Promise<string>;
  /** Terminates the thread, and removes the temporary file. */
  cancel(): Promise<void>;
}

/** The other thread shares the content's memory, which must not change from now on. */
export function writeSnapshotInThread(folder: string, content: SnapshotContent): SnapshotWriting {
  const workerData: SnapshotTask = { folder, ...content };
  // Nothing below refers to the content: the thread frees it piece by piece.
  const { path } = snapshotNameOf(folder, content.header.sequence);
  const worker = new Worker(compiledFile('persistence/recovery/snapshot/worker.js'), {
    workerData,
  });
  const done = new Promise<string>((resolve, reject) => {
    worker.on('message', (result: SnapshotResult) =>
      'hash' in result ? resolve(result.hash) : reject(new Error(result.problem)),
    );
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('the thread that writes it has ended')));
  });
  const cancel = async () => {
    await worker.terminate();
    removeUnfinished(path);
  };
  return { done, cancel };
}
