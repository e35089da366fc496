/**
 * How much a random test tries, and the seed of its choices: a sample in `npm test`, as much as
 * `npm run trials` says in a trial.
 *
 * A seed repeats choices. Over HTTP it does not repeat the order in which requests arrive, so such
 * a run is not repeatable to the bit.
 */
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of a trial; undefined in `npm test`. */
    times: number | undefined;
    seed: string | undefined;
    /** For tests that start exchanges; undefined: none. */
    edgeThreads: number | undefined;
  }
}

/** Of all random choices: a trial's, or that of vitest.config.ts. */
export const SEED = inject('seed') ?? process.env['SEED']!;

/** How many to try: in a trial `whole`, multiplied by `--times`, and in `npm test` the sample. */
export function extent(whole: number, sample = whole): number {
  const times = inject('times');
  return times === undefined ? sample : Math.max(1, Math.round(whole * times));
}
