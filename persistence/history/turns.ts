/** Divides long work into turns of the event loop, between which the thread answers messages. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Work } from '../../engine/storage/pieces.js';

const PIECES_IN_TURN = 16;

/** Does `work` in turns of the event loop. Work of few pieces is done before this returns. */
export async function inTurns<Result>(work: Work<Result>): Promise<Result> {
  for (let pieces = 1; ; pieces++) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (pieces % PIECES_IN_TURN === 0) await nextTurn();
  }
}
