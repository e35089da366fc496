/**
 * The thread that syncs one snapshot and reads it back, below the follower's priority.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { lowerPriority } from '../../storage/thread-priority.js';
import { troubleOf, troubleText } from '../../storage/trouble.js';
import { finishSnapshot } from './file.js';
import type { SnapshotResult } from './thread.js';

const PRIORITY_STEPS = 5;

function finish(path: string): SnapshotResult {
  try {
    return { hash: finishSnapshot(path) };
  } catch (error) {
    return { problem: troubleText(troubleOf(error)) };
  }
}

lowerPriority(PRIORITY_STEPS);
parentPort!.postMessage(finish(workerData as string));
