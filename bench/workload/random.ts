/**
 * Random choices of loads and of tests. They all draw from one source of numbers, so that the same seed gives the same choices as long as
 * it is asked for the same ones in the same order.
 */
import { uniformRandom } from '../../gateway/inputs/feeds/random.js';

export class Random {
  /** The next number: 0 or more, less than 1. */
  readonly next: () => number;

  constructor(seed: string) {
    this.next = uniformRandom(seed);
  }

  /** A whole number from `min` to `max`. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** A whole number from 1 to `max`, each order of magnitude as likely as the next. */
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

  /** One of the names, as often as its weight among all weights says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries<number>(weights) as [Name, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return entries.at(-1)![0];
  }

  /** How long until the next of events that come independently of each other, `rate` of them in one unit of time (exponential). */
  untilNext(rate: number): number {
    return -Math.log(1 - this.next()) / rate;
  }
}
