/**
 * Long work in pieces: a generator that yields wherever it may pause. The caller runs it in one go,
 * or does other work in between.
 */

/** Yields after each small piece, which takes less than a millisecond on usual machines. */
export type IncrementalTask<Result> = Generator<void, Result, void>;

export function runToEnd<Result>(task: IncrementalTask<Result>): Result {
  for (;;) {
    const step = task.next();
    if (step.done === true) return step.value;
  }
}
