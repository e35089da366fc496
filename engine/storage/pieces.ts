/**
 * Long work in pieces: a generator that yields wherever it may pause. Whoever runs it decides how:
 * at once, or with something else in between.
 */

/** Yields after a small piece: less than a millisecond on a machine that is not slow. */
export type Work<Result> = Generator<void, Result, void>;

/** Does all of it without a pause. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
