/**
 * Times several ways to do the same work alternately, chunk by chunk, by this thread's CPU time.
 */

export interface Run {
  length: number;
  /** Called in order, without gaps. */
  advance(from: number, to: number): void;
  /** @throws if the work ended in a wrong state */
  finish(): void;
}

/** Not timed. */
export type Start = () => Run;

export interface RaceOptions {
  rounds: number;
  warmUpRounds: number;
  chunks: number;
}

/** Milliseconds by contestant, round and chunk. */
export function race(contestants: readonly Start[], options: RaceOptions): number[][][] {
  const { rounds, warmUpRounds, chunks } = options;
  for (let round = 0; round < warmUpRounds; round++) raceOnce(contestants, chunks);
  const times = Array.from({ length: rounds }, () => raceOnce(contestants, chunks));
  return contestants.map((_, i) => times.map((round) => round[i]!));
}

/**
 * Sums each chunk's least time of all rounds, because other programs can only slow a chunk down.
 */
export function leastNanos(start: Start, options: RaceOptions): number {
  const rounds = race([start], options)[0]!;
  const least = rounds[0]!.map((_, chunk) => Math.min(...rounds.map((chunks) => chunks[chunk]!)));
  return least.reduce((sum, ms) => sum + ms, 0) * 1e6;
}

function raceOnce(contestants: readonly Start[], chunks: number): number[][] {
  const runs = contestants.map((start) => start());
  const times = runs.map(() => new Array<number>(chunks).fill(0));
  globalThis.gc?.();
  for (let chunk = 0; chunk < chunks; chunk++) {
    for (let turn = 0; turn < runs.length; turn++) {
      // Rotate, so that no contestant always runs with the same other one's data in the caches.
      const i = (turn + chunk) % runs.length;
      const { length } = runs[i]!;
      const from = Math.floor((length * chunk) / chunks);
      const to = Math.floor((length * (chunk + 1)) / chunks);
      if (from === to) continue;
      const startedMs = ownCpuMs();
      runs[i]!.advance(from, to);
      times[i]![chunk] = ownCpuMs() - startedMs;
    }
  }
  for (const run of runs) run.finish();
  return times;
}

const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));

/** Linux updates a running thread's CPU time every few milliseconds, and when the thread waits. */
function ownCpuMs(): number {
  Atomics.wait(NEVER_WOKEN, 0, 0, 0.01);
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
