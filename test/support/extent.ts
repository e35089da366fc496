/**
 * The extent of a random test and the seed of its choices: a sample in `npm test`; in a trial, as
 * much as `npm run trials` sets.
 *
 * A seed repeats choices. Over HTTP it does not repeat the order in which requests arrive, so such
 * a run is not repeatable to the bit.
 */
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** In a trial; undefined in `npm test`. */
    times: number | undefined;
    seed: string | undefined;
    /** For tests that start exchanges; undefined: none. */
    edgeThreads: number | undefined;
  }
}

/** The seed of all random choices: a trial's, or the one in vitest.config.ts. */
export const SEED = inject('seed') ?? process.env['SEED']!;

/** The number to try: in a trial `whole`, multiplied by `--times`; in `npm test` the sample. */
export function extent(whole: number, sample = whole): number {
  const times = inject('times');
  return times === undefined ? sample : Math.max(1, Math.round(whole * times));
}
