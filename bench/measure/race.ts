/**
 * Times several ways through the same work in turns, chunk by chunk, so that the noise of the
 * machine falls on all of them.
 */

export interface Run {
  /** The number of steps. */
  length: number;
  /** Does some of the steps. Called in order, without gaps. */
  advance(from: number, to: number): void;
  /** Throws if the work ended in another state than it should. */
  finish(): void;
}

/** Prepares a run from scratch, which is not timed. */
export type Start = () => Run;

export interface RaceOptions {
  rounds: number;
  warmUpRounds: number;
  chunks: number;
}

/** The milliseconds of each chunk of each round, for each contestant. */
export function race(contestants: readonly Start[], options: RaceOptions): number[][][] {
  const { rounds, warmUpRounds, chunks } = options;
  for (let round = 0; round < warmUpRounds; round++) raceOnce(contestants, chunks);
  const times = Array.from({ length: rounds }, () => raceOnce(contestants, chunks));
  return contestants.map((_, i) => times.map((round) => round[i]!));
}

function raceOnce(contestants: readonly Start[], chunks: number): number[][] {
  const runs = contestants.map((start) => start());
  const times = runs.map(() => new Array<number>(chunks).fill(0));
  globalThis.gc?.();
  for (let chunk = 0; chunk < chunks; chunk++) {
    for (let turn = 0; turn < runs.length; turn++) {
      // Nobody always runs after the same other one, which leaves its data in the caches.
      const i = (turn + chunk) % runs.length;
      const { length } = runs[i]!;
      const from = Math.floor((length * chunk) / chunks);
      const to = Math.floor((length * (chunk + 1)) / chunks);
      const startedMs = performance.now();
      runs[i]!.advance(from, to);
      times[i]![chunk] = performance.now() - startedMs;
    }
  }
  for (const run of runs) run.finish();
  return times;
}
