/** Random choices from a seed. The same calls in the same order give the same choices. */
import { uniformRandom } from '../../../gateway/inputs/feeds/random.js';

export class Random {
  /** Returns the next number in [0, 1). */
  readonly next: () => number;

  constructor(seed: string) {
    this.next = uniformRandom(seed);
  }

  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** A whole number from 1 to `max`, with each order of magnitude equally likely. */
  magnitude(max: number): number {
    return Math.max(1, Math.floor(max ** this.next()));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error('there is nothing to pick from');
    return from[this.whole(0, from.length - 1)]!;
  }

  /** One of the names, with a probability proportional to its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries<number>(weights) as [Name, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return entries.at(-1)![0];
  }

  /** The time to the next event of a Poisson process with `rate` events per unit of time. */
  untilNext(rate: number): number {
    return -Math.log(1 - this.next()) / rate;
  }
}
