/** Hashes a full segment of the journal in a thread of its own: it takes a second per gigabyte. */
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../storage/program-folder.js';

/** SHA-256 of a whole file. */
export function hashFileInThread(path: string): Promise<Buffer> {
  const worker = new Worker(compiledFile('persistence/follower/hash-worker.js'), {
    workerData: path,
  });
  return new Promise((resolve, reject) => {
    worker.on('message', (hash: Uint8Array) => resolve(Buffer.from(hash)));
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('the thread that hashes a segment has ended')));
  });
}
