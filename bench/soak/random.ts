/** The random choices of the soak, from a seed. */
import { uniformRandom } from '../../gateway/feeds/random.js';

export class Random {
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

  /** How long until the next of events that come independently of each other, `rate` of them in one unit of time. */
  untilNext(rate: number): number {
    return -Math.log(1 - this.next()) / rate;
  }
}

/** Draws names, each as often as its weight among all weights says. */
export class Mix<Name extends string> {
  private readonly names: Name[] = [];

  /** Whole weights; together some thousands at the most. */
  constructor(
    weights: Readonly<Record<Name, number>>,
    private readonly random: Random,
  ) {
    for (const [name, weight] of Object.entries<number>(weights)) {
      for (let i = 0; i < weight; i++) this.names.push(name as Name);
    }
  }

  draw(): Name {
    return this.random.pick(this.names);
  }
}
