/**
 * The thread that writes one snapshot, reads it back and removes old ones, below the follower's
 * priority.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { lowerPriority } from '../storage/thread-priority.js';
import { writeSnapshot } from './file.js';
import { removeOldSnapshots, snapshotNameOf } from './folder.js';
import type { SnapshotResult, SnapshotTask } from './thread.js';

const PRIORITY_STEPS = 5;

function write({ folder, header, pieces }: SnapshotTask): SnapshotResult {
  try {
    writeSnapshot(snapshotNameOf(folder, header.sequence).path, {
      header: { ...header, hash: Buffer.from(header.hash) },
      pieces,
    });
    removeOldSnapshots(folder, header.sequence);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

lowerPriority(PRIORITY_STEPS);
parentPort!.postMessage(write(workerData as SnapshotTask));
