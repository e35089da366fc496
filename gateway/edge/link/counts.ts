/**
 * Connection counts of all edge threads in shared memory, for their common limit.
 *
 * Invariant: a thread stores its own number before it reads the others', so two threads cannot both
 * open the last connection.
 */
import type { OtherConnections } from '../../access/fair-use/connections.js';

/** One cache line per thread, in words. */
const ROW = 16;

export function countsMemory(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * ROW * threads);
}

export function connectionsBeside(memory: SharedArrayBuffer, row: number): OtherConnections {
  const counts = new Int32Array(memory);
  return {
    tell: (own) => {
      Atomics.store(counts, row * ROW, own);
    },
    count: () => {
      let sum = 0;
      for (let at = 0; at < counts.length; at += ROW)
        if (at !== row * ROW) sum += Atomics.load(counts, at);
      return sum;
    },
  };
}
