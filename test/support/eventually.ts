/** Waits for a condition, so that no test depends on how busy the machine is. */
const WAIT_MS = 20_000;
const MAX_PAUSE_MS = 10;

// biome-ignore lint/suspicious/noConfusingVoidType: a check may be an expectation
type Holds = boolean | void;

/**
 * Waits until `check` neither returns false nor throws; after `waitMs` it throws what it waited for
 * and what it saw last.
 */
export async function eventually(
  check: () => Holds | Promise<Holds>,
  waitMs = WAIT_MS,
): Promise<void> {
  const giveUpAtMs = performance.now() + waitMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs + 1, MAX_PAUSE_MS)) {
    let seen: unknown = false;
    try {
      if ((await check()) !== false) return;
    } catch (error) {
      seen = error;
    }
    if (performance.now() > giveUpAtMs) {
      const last = seen instanceof Error ? seen.message : seen;
      throw new Error(`not within ${waitMs} ms: ${check}\nlast: ${last}`, { cause: seen });
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/**
 * How long no market may be open: an exchange that begins in the last minute of a quarter hour
 * opens none before the next.
 */
export const NO_MARKET_MS = 180_000;
