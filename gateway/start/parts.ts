/**
 * The parts of a process, in startup order. They stop in reverse order, so that a part can use the
 * parts before it until it has stopped.
 *
 * Invariant: each part stops once, even if others fail to stop.
 */
import { atMost } from '../observe/clock.js';
import type { Log } from '../observe/log.js';

/**
 * How long shutdown waits for requests in flight and their clients, then for the stream. The rest
 * has no limit: accepted commands must become durable, however slow the disk.
 */
export const STOP_MS = { requests: 2_500, stream: 1_000, sources: 100, replicas: 1_000 };

type Stop = () => void | Promise<void>;

export class Parts {
  private readonly stops: Stop[] = [];
  private stopped: Promise<void> | null = null;
  /** Whether new work is refused. */
  isStopping = false;

  constructor(private readonly log: Log) {}

  /** Adds a part that starts now. The parts before it wait up to `limitMs` for it to stop. */
  add(stop: Stop, limitMs?: number): void {
    this.stops.push(limitMs === undefined ? stop : () => atMost(limitMs, Promise.resolve(stop())));
  }

  /** Adds a part that stops after all others. */
  addFirst(stop: Stop): void {
    this.stops.unshift(stop);
  }

  /** Starts with these parts. If that fails, stops those that have started, and rethrows. */
  async start<Started>(start: () => Promise<Started>): Promise<Started> {
    try {
      return await start();
    } catch (error) {
      await this.stop().catch(() => {});
      throw error;
    }
  }

  /**
   * Stops all parts, last one first. Rejects with the first failure. `sequence` returns the last
   * durable one, for the log; it is absent if startup failed, which the caller reports.
   */
  stop(sequence?: () => number): Promise<void> {
    this.isStopping = true;
    this.stopped ??= this.stopAll(sequence);
    return this.stopped;
  }

  private async stopAll(sequence?: () => number): Promise<void> {
    if (sequence !== undefined) this.log.info('stopping');
    const failures: unknown[] = [];
    for (const stop of this.stops.reverse()) {
      try {
        await stop();
      } catch (error) {
        this.log.error({ err: error }, 'a part of the exchange did not stop cleanly');
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    if (sequence !== undefined) this.log.info({ sequence: sequence() }, 'stopped');
  }
}
