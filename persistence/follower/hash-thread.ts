/** Hashes a full segment of the journal in a thread of its own: it takes a second per gigabyte. */
import { Worker } from 'node:worker_threads';

/** SHA-256 of a whole file. */
export function hashFileInThread(path: string): Promise<Buffer> {
  const worker = new Worker(workerUrl(), { workerData: path });
  return new Promise((resolve, reject) => {
    worker.on('message', (hash: Uint8Array) => resolve(Buffer.from(hash)));
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('the thread that hashes a segment has ended')));
  });
}

/** The compiled thread, also when tests run this file as source: Node.js 20 runs no TypeScript. */
function workerUrl(): URL {
  const { url } = import.meta;
  const compiled = '../../dist/persistence/follower/hash-worker.js';
  return new URL(url.endsWith('.ts') ? compiled : './hash-worker.js', url);
}
