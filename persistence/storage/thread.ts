/** Work in a thread of its own. */
import { Worker } from 'node:worker_threads';
import { compiledFile } from './program-folder.js';

export interface ThreadWork<Result> {
  worker: Worker;
  /** Settles when the thread has ended: with its only message, or with the error that ended it. */
  result: Promise<Result>;
}

/** @param file from the folder of compiled code. */
export function inThread<Result>(file: string, workerData: unknown): ThreadWork<Result> {
  const worker = new Worker(compiledFile(file), { workerData });
  const result = new Promise<Result>((resolve, reject) => {
    let found: { result: Result } | null = null;
    let error = new Error(`the thread of ${file} has ended`);
    worker.on('message', (message: Result) => (found = { result: message }));
    worker.on('error', (thrown: Error) => (error = thrown));
    worker.on('exit', () => (found === null ? reject(error) : resolve(found.result)));
  });
  return { worker, result };
}
