/**
 * Simulated time: events happen in the order of their times, and nothing happens between them. The
 * same seed gives the same run.
 */
import type { Random } from '../../support/workload/random.js';

interface Happening {
  atMs: number;
  /** Breaks ties: the event that was planned first happens first. */
  order: number;
  happen: () => void;
}

export class World {
  nowMs = 0;
  private readonly planned: Happening[] = [];
  private orders = 0;

  constructor(readonly random: Random) {}

  after(delayMs: number, happen: () => void): void {
    const atMs = this.nowMs + delayMs;
    const order = ++this.orders;
    let at = this.planned.length;
    // The list is sorted, with the next event last.
    while (at > 0 && isBefore(this.planned[at - 1]!, { atMs, order })) at--;
    this.planned.splice(at, 0, { atMs, order, happen });
  }

  /** Runs everything up to `untilMs`, and calls `afterEach` after each event. */
  async run(untilMs: number, afterEach: () => void = () => {}): Promise<void> {
    for (let next = this.planned.at(-1); next !== undefined; next = this.planned.at(-1)) {
      if (next.atMs > untilMs) break;
      this.planned.pop();
      this.nowMs = next.atMs;
      next.happen();
      // The sequencer starts its commits with setImmediate, before this callback.
      await new Promise((resolve) => setImmediate(resolve));
      afterEach();
    }
    this.nowMs = untilMs;
  }
}

function isBefore(a: { atMs: number; order: number }, b: { atMs: number; order: number }): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
