/**
 * A process as a list of parts, in startup order: a leader, a waiting standby and a replica. The
 * parts stop in reverse order, so that a part can use the parts before it until it has stopped.
 *
 * Invariant: each part stops once, even if others fail to stop.
 */
import { atMost } from '../observe/clock.js';
import type { Log } from '../observe/log.js';

/**
 * How long shutdown waits for requests in flight and their clients, then for the stream. The rest
 * has no limit: accepted commands must become durable, however slow the disk.
 */
export const STOP_MS = { requests: 2_500, stream: 1_000, replicas: 1_000 };
/** A leader that hands over waits no longer than this for a part, so that the standby can lead. */
const HAND_OVER_MS = 1_000;

export interface Part {
  /** Starts the part, after the parts before it. */
  start?(): void | Promise<void>;
  /** Why the part is not ready for traffic, or `null`. */
  problem?(): string | null;
  stop?(): void | Promise<void>;
  /** How long the parts before it wait for the stop. No limit by default. */
  limitMs?: number;
  /** Whether the part stops before the lease ends, when a leader hands over. */
  isOfLead?: boolean;
}

export class Parts {
  private readonly parts: Part[] = [];
  /** The ends of the parts that are stopping or have stopped. */
  private readonly ends = new Map<Part, Promise<void>>();
  private stopped: Promise<void> | null = null;
  /** Whether new work is refused. */
  isStopping = false;

  constructor(private readonly log: Log) {}

  async add(part: Part): Promise<void> {
    this.parts.push(part);
    await part.start?.();
  }

  /** Adds a part that stops after all others. */
  addFirst(part: Part): void {
    this.parts.unshift(part);
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

  /** Why the process is not ready for traffic, or `null`. */
  get problem(): string | null {
    if (this.isStopping) return 'stopping';
    for (const { problem } of this.parts) {
      const found = problem?.() ?? null;
      if (found !== null) return found;
    }
    return null;
  }

  /** Stops the parts up to the end of the lease. Rejects with the first failure. */
  handOver(): Promise<void> {
    this.isStopping = true;
    return this.stopEach(({ isOfLead = false }) => isOfLead, HAND_OVER_MS);
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
    await this.stopEach(() => true);
    if (sequence !== undefined) this.log.info({ sequence: sequence() }, 'stopped');
  }

  private async stopEach(isWanted: (part: Part) => boolean, mostMs = Number.POSITIVE_INFINITY) {
    const failures: unknown[] = [];
    for (const part of this.parts.toReversed()) {
      if (!isWanted(part)) continue;
      const end = this.ends.get(part) ?? Promise.resolve().then(() => part.stop?.());
      this.ends.set(part, end);
      try {
        const { limitMs } = part;
        await (limitMs === undefined ? end : atMost(Math.min(limitMs, mostMs), end));
      } catch (error) {
        this.log.error({ err: error }, 'a part of the exchange did not stop cleanly');
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
