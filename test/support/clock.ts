/** A clock that moves only when the test moves it. */
import type { Clock } from '../../gateway/inputs/clock.js';
import { eventually } from './eventually.js';

/** A timer of this length never fires within a test. */
const ASLEEP_MS = 60_000;

export class ManualClock implements Clock {
  private sleeps = 0;

  /**
   * `sleepMs`: how long a timer for a later time sleeps before it checks the clock again. If short,
   * due work happens by itself; by default, only when the test triggers it.
   */
  constructor(
    private atMs: number,
    private readonly sleepMs = ASLEEP_MS,
  ) {}

  nowMs(): number {
    return this.atMs;
  }

  delayUntilMs(atMs: number): number {
    this.sleeps++;
    return atMs <= this.atMs ? 0 : this.sleepMs;
  }

  set(atMs: number): void {
    if (atMs < this.atMs) throw new Error('time does not go back');
    this.atMs = atMs;
  }

  /** Resolves when a timer wakes up after this call, does the due work and sleeps again. */
  async seen(): Promise<void> {
    const { sleeps } = this;
    await eventually(() => this.sleeps > sleeps);
  }
}
