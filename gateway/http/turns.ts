/**
 * Requests with large bodies, served one in a turn of the event loop: requests of other
 * connections are served between them. Each connection has at most one.
 */

/** At most 20 µs each: a batch of 100 orders has about 50. */
const UNITS_IN_TURN = 100;

export class Turns {
  private readonly waiting: (() => void)[] = [];

  /** Whether the work of a body is too long to be done with that of others in one turn. */
  static mustWait(units: number): boolean {
    return units > UNITS_IN_TURN;
  }

  add(work: () => void): void {
    if (this.waiting.push(work) === 1) setImmediate(this.next);
  }

  private readonly next = (): void => {
    const work = this.waiting.shift()!;
    if (this.waiting.length > 0) setImmediate(this.next);
    work();
  };
}
