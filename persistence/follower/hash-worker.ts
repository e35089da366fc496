/** The thread that hashes one full segment, below the other threads' priority. */
import { parentPort, workerData } from 'node:worker_threads';
import { fileHash } from '../storage/files.js';
import { lowerPriority } from '../storage/thread-priority.js';

const PRIORITY_STEPS = 10;

lowerPriority(PRIORITY_STEPS);
parentPort!.postMessage(fileHash(workerData as string));
