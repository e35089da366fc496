/**
 * How an attack tells that a promise of the exchange did not hold, or that this machine cannot run
 * the attack.
 */

export class BrokenPromise extends Error {}

export class CannotRun extends Error {}

/** @throws BrokenPromise that says what happened instead, unless `holds`. */
export function mustHold(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new BrokenPromise(otherwise);
}

/** Waits until a condition holds. @throws BrokenPromise when it does not within `limitMs`. */
export async function eventually(
  what: string,
  limitMs: number,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!(await condition())) {
    mustHold(performance.now() < deadlineMs, `not within ${limitMs / 1_000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
