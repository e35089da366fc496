/** Waits for a condition, so that tests do not depend on the machine's speed. */
const WAIT_MS = 20_000;
const MAX_PAUSE_MS = 10;
/**
 * How many times longer than its check a pause is at least. Checks then take a third of a core at
 * most, and what is waited for has the rest.
 */
const PAUSE_PER_CHECK = 2;

// biome-ignore lint/suspicious/noConfusingVoidType: a check may be an expectation
type Holds = boolean | void;

/**
 * Retries `check` until it succeeds, i.e. does not throw or return false. After `waitMs` it throws,
 * with the condition and the last failure.
 */
export async function eventually(
  check: () => Holds | Promise<Holds>,
  waitMs = WAIT_MS,
): Promise<void> {
  const giveUpAtMs = performance.now() + waitMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs + 1, MAX_PAUSE_MS)) {
    let seen: unknown = false;
    const checkedAtMs = performance.now();
    try {
      if ((await check()) !== false) return;
    } catch (error) {
      seen = error;
    }
    const nowMs = performance.now();
    if (nowMs > giveUpAtMs) {
      const last = seen instanceof Error ? seen.message : seen;
      throw new Error(`not within ${waitMs} ms: ${check}\nlast: ${last}`, { cause: seen });
    }
    const restMs = Math.max(pauseMs, PAUSE_PER_CHECK * (nowMs - checkedAtMs));
    await new Promise((resolve) => setTimeout(resolve, restMs));
  }
}

/**
 * The longest time without an open market: an exchange that starts in the last minute of a quarter
 * hour opens its first market in the next one.
 */
export const NO_MARKET_MS = 180_000;
