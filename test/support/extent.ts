/**
 * The extent of a random test and the seed of its choices: a sample in `npm test`; in a trial, as
 * much as `npm run trials` sets. The same seed gives the same choices, but over HTTP not the same
 * order of arrival, so such a run is not repeatable bit for bit.
 */
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** The multiplier of a trial; undefined in `npm test`. */
    times: number | undefined;
    seed: string | undefined;
    /** The number of edge threads of each exchange; undefined if none. */
    edgeThreads: number | undefined;
  }
}

/** The seed of all random choices: the trial's, or the default in vitest.config.ts. */
export const SEED = inject('seed') ?? process.env['SEED']!;

/** The number of tries: `whole` times `--times` in a trial, `sample` in `npm test`. */
export function extent(whole: number, sample = whole): number {
  const times = inject('times');
  return times === undefined ? sample : Math.max(1, Math.round(whole * times));
}
