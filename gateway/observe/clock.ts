/** The only file that reads the machine's clock, and waits with a limit. */
// The global of the same name is a getter, which takes a third of the time of a reading.
import { performance } from 'node:perf_hooks';

/** Since an arbitrary moment, with fractions. Never goes back. */
export function elapsedMs(): number {
  return performance.now();
}

/** Since the epoch. The machine's clock may be wrong. */
export function machineMs(): number {
  return Date.now();
}

/** The Date header, where uWebSockets.js does not write it. */
export function httpDate(): string {
  return new Date().toUTCString();
}

/** The work continues after the limit. */
export async function atMost(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
