/** Divides long work into turns of the event loop, between which the thread answers messages. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IncrementalTask } from '../../engine/storage/incremental-task.js';

const PIECES_IN_TURN = 16;

/** Runs `task` in turns of the event loop. A task of few pieces is done before this returns. */
export async function runYielding<Result>(task: IncrementalTask<Result>): Promise<Result> {
  for (let pieces = 1; ; pieces++) {
    const step = task.next();
    if (step.done === true) return step.value;
    if (pieces % PIECES_IN_TURN === 0) await nextTurn();
  }
}
