/**
 * Random choices of the tests that trade over HTTP, from a seed that they print. The seed repeats the choices; the order in
 * which the clients' requests arrive is the network's, so a run is not repeated to the bit.
 */
import { uniformRandom } from '../gateway/feeds/random.js';

export class Dice {
  private readonly next: () => number;

  constructor(seed: string) {
    this.next = uniformRandom(seed);
  }

  /** A whole number from `min` to `max`. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error('there is nothing to pick from');
    return from[this.whole(0, from.length - 1)]!;
  }

  /** One of the names, as often as its weight among all weights says. */
  weighted<T extends string>(weights: Record<T, number>): T {
    const entries = Object.entries<number>(weights) as [T, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return entries.at(-1)![0];
  }
}

/** The seed of a run: what the variable of this name says, else another one each time. */
export function seedOf(variable: string): string {
  return process.env[variable] ?? `${Math.floor(Math.random() * 2 ** 31)}`;
}
