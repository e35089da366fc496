/**
 * The thread that writes one snapshot, reads it back, and removes the ones that are too old (see snapshot-thread.ts).
 * On Linux a thread has a priority of its own; this one gives way to all others.
 */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { writeSnapshot } from './snapshot-file.js';
import { removeOldSnapshots, snapshotNameOf } from './snapshot-folder.js';
import type { SnapshotResult, SnapshotTask } from './snapshot-thread.js';

const LOW_PRIORITY = 10;

function write({ folder, header, pieces }: SnapshotTask): SnapshotResult {
  try {
    writeSnapshot(snapshotNameOf(folder, header.sequence).path, {
      header: { ...header, hash: Buffer.from(header.hash) },
      pieces,
    });
    removeOldSnapshots(folder);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

if (process.platform === 'linux') setPriority(0, LOW_PRIORITY);
parentPort!.postMessage(write(workerData as SnapshotTask));
