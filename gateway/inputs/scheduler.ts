/**
 * Submits `advanceTime` when due, and once per event-loop turn while ended markets have work.
 *
 * Invariant: it never submits early. At most one timer is set. Commands that do not change the next
 * deadline, which are nearly all, cost nothing.
 */
import { SubmitRefused } from '../../persistence/sequencer.js';
import type { Submitter } from '../observe/watched-sequencer.js';
import type { Clock } from './clock.js';

/** In real time, in case the clock is set during a sleep. */
const MAX_SLEEP_MS = 1_000;
const REFUSED_SLEEP_MS = 10;

export class Scheduler {
  /** Infinity without a timer. */
  private armedForMs = Number.POSITIVE_INFINITY;
  private timer: NodeJS.Timeout | null = null;
  private immediate: NodeJS.Immediate | null = null;
  private running = false;
  private readonly wake = (): void => this.run();

  constructor(
    private readonly sequencer: Submitter,
    private readonly clock: Clock,
  ) {}

  start(): void {
    this.running = true;
    this.afterSubmit();
  }

  /** Call after every command, which may have moved the deadline. */
  afterSubmit(): void {
    const dueAtMs = this.sequencer.engine.nextDueMs();
    if (dueAtMs < this.armedForMs && this.running) this.arm(dueAtMs);
  }

  stop(): void {
    this.running = false;
    this.disarm();
  }

  private run(): void {
    this.disarm();
    const { engine } = this.sequencer;
    if (engine.nextDueMs() <= this.nowMs() && !this.advanced()) {
      this.armedForMs = engine.nextDueMs();
      this.timer = setTimeout(this.wake, REFUSED_SLEEP_MS);
      return;
    }
    const dueAtMs = engine.nextDueMs();
    if (dueAtMs < Number.POSITIVE_INFINITY && this.running) this.arm(dueAtMs);
  }

  private advanced(): boolean {
    try {
      this.sequencer.submit({ kind: 'advanceTime' });
      return true;
    } catch (error) {
      if (error instanceof SubmitRefused) return false;
      throw error;
    }
  }

  private arm(dueAtMs: number): void {
    this.disarm();
    this.armedForMs = dueAtMs;
    if (dueAtMs <= this.nowMs()) this.immediate = setImmediate(this.wake);
    else
      this.timer = setTimeout(this.wake, Math.min(this.clock.delayUntilMs(dueAtMs), MAX_SLEEP_MS));
  }

  private disarm(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.immediate !== null) clearImmediate(this.immediate);
    this.timer = null;
    this.immediate = null;
    this.armedForMs = Number.POSITIVE_INFINITY;
  }

  /** The time that a command submitted now would get. */
  private nowMs(): number {
    return Math.max(this.sequencer.engine.nowMs, this.clock.nowMs());
  }
}
