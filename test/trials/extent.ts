/** What `npm run trials` was told: how much each trial tries, and the seed of its choices. */
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    times: number;
    seed: string;
  }
}

/** Of all random choices. Prints in the table, and `--seed` repeats it. */
export const seed = inject('seed');

/** The usual number of whatever a trial repeats, multiplied by `--times`. */
export function extent(usual: number): number {
  return Math.max(1, Math.round(usual * inject('times')));
}
