/**
 * How many connections each edge thread has, in shared memory, for the limit on all of them.
 *
 * Always holds: a thread stores how many it has before it looks how many the others have, so two
 * threads cannot both open the last one.
 */
import type { OtherConnections } from '../../access/fair-use/connections.js';

/** A cache line per thread, in words. */
const ROW = 16;

export function countsMemory(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * ROW * threads);
}

/** The connections of the others, as the thread of `row` sees them. */
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
