/**
 * The thread that writes one snapshot and reads it back, below the follower's priority.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { lowerPriority } from '../../storage/thread-priority.js';
import { troubleOf, troubleText } from '../../storage/trouble.js';
import { writeSnapshot } from './file.js';
import { snapshotNameOf } from './folder.js';
import type { SnapshotResult, SnapshotTask } from './thread.js';

const PRIORITY_STEPS = 5;

function write({ folder, header, pieces }: SnapshotTask): SnapshotResult {
  try {
    const hash = writeSnapshot(snapshotNameOf(folder, header.sequence).path, {
      header: { ...header, hash: Buffer.from(header.hash) },
      pieces,
    });
    return { hash };
  } catch (error) {
    return { problem: troubleText(troubleOf(error)) };
  }
}

lowerPriority(PRIORITY_STEPS);
parentPort!.postMessage(write(workerData as SnapshotTask));
