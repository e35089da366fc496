/**
 * Long work in pieces: a generator that yields wherever it may pause. Whoever runs it decides how:
 * at once, or in turns between which the thread answers messages.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Yields after a small piece: less than a millisecond on a machine that is not slow. */
export type Work<Result> = Generator<void, Result, void>;

const PIECES_IN_TURN = 16;

/** Does all of it without a pause. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Does it in turns of the event loop. Work of few pieces is done before this returns. */
export async function inTurns<Result>(work: Work<Result>): Promise<Result> {
  for (let pieces = 1; ; pieces++) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (pieces % PIECES_IN_TURN === 0) await nextTurn();
  }
}
