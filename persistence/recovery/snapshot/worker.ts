/**
 * The thread that syncs one snapshot and reads it back, below the follower's priority.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { lowerPriority } from '../../storage/thread-priority.js';
import { finishSnapshot } from './file.js';

const PRIORITY_STEPS = 5;

lowerPriority(PRIORITY_STEPS);
parentPort!.postMessage(finishSnapshot(workerData as string));
