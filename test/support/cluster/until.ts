/** Waits for events in other processes. */
const PAUSE_MS = 20;

/** Waits until `check` is true; an error in it counts as false. @throws Error after `waitMs` */
export async function until(
  what: string,
  check: () => Promise<boolean> | boolean,
  waitMs = 60_000,
): Promise<void> {
  const giveUpAtMs = performance.now() + waitMs;
  for (;;) {
    let problem = '';
    try {
      if (await check()) return;
    } catch (error) {
      problem = `: ${(error as Error).message}`;
    }
    if (performance.now() > giveUpAtMs)
      throw new Error(`not within ${waitMs} ms: ${what}${problem}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
