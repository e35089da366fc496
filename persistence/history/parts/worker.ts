/** The thread that makes the file of one part, until the first message ends it. */
import { parentPort, workerData } from 'node:worker_threads';
import { lowerPriority } from '../../storage/thread-priority.js';
import { makePart, type PartFile } from './sealing.js';

const PRIORITY_STEPS = 5;

const ends = new AbortController();
parentPort!.once('message', () => ends.abort());
lowerPriority(PRIORITY_STEPS);
parentPort!.postMessage(await makePart(workerData as PartFile, ends.signal));
parentPort!.close();
