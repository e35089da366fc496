/**
 * A process as a list of parts in startup order. They stop in reverse order.
 *
 * Invariant: each part stops once, even if others fail, and can use the parts before it until then.
 */
import { atMost } from '../observe/clock.js';
import type { Log } from '../observe/log.js';

/** Limits of a stop. Accepted commands have none, because they must become durable. */
export const STOP_MS = { requests: 2_500, stream: 1_000, replicas: 1_000 };
/** Limit per part when a leader hands over, so that the standby can lead. */
const HAND_OVER_MS = 1_000;

export interface Part {
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
  private readonly ends = new Map<Part, Promise<void>>();
  private stopped: Promise<void> | null = null;
  isStopping = false;

  constructor(private readonly log: Log) {}

  async add(part: Part): Promise<void> {
    this.parts.push(part);
    await part.start?.();
  }

  addFirst(part: Part): void {
    this.parts.unshift(part);
  }

  /** If starting fails, stops the parts that have started, and rethrows. */
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

  /** Rejects with the first failure. `sequence`, for the log, is absent if startup failed. */
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
