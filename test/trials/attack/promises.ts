/** How an attack reports a broken promise, or that this machine cannot run it. */
import { setTimeout as sleep } from 'node:timers/promises';

export class BrokenPromise extends Error {}

export class CannotRun extends Error {
  /** Returns what `work` returns. If it throws, this machine cannot run the attack. */
  static unlessDone<T>(what: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw new CannotRun(`cannot ${what}: ${(error as Error).message}`);
    }
  }
}

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
    await sleep(20);
  }
}

/** @throws CannotRun on another system: `what` only Linux has. */
export function mustBeLinux(what: string): void {
  if (process.platform !== 'linux') throw new CannotRun(`only Linux has ${what}`);
}
