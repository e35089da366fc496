/**
 * Makes the files of parts in their own thread: it takes as long as it took to make the entries.
 */
import { inThread } from '../../storage/thread.js';
import { HistoryDamage } from '../rows.js';
import type { MakePart } from './sealing.js';

export const makePartInThread: MakePart = async (file, signal) => {
  signal.throwIfAborted();
  const { worker, result } = inThread<string>('persistence/history/parts/worker.js', file);
  // A thread that is terminated in a call into SQLite ends the process.
  const end = () => worker.postMessage('end');
  signal.addEventListener('abort', end);
  try {
    return await result;
  } catch (error) {
    throw (error as Error).name === HistoryDamage.name ? damageOf(error as HistoryDamage) : error;
  } finally {
    signal.removeEventListener('abort', end);
  }
};

/** An error arrives with its fields, but not of its class. */
function damageOf({ table, row, problem, part, cause }: HistoryDamage): HistoryDamage {
  return new HistoryDamage(table, row, problem, cause).in(part);
}
