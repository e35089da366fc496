/**
 * Warnings about what anybody outside can cause as often as they like: of each kind one line a second at most, which says how many were left
 * out before it, so that a flood of requests is no flood of writes.
 */
import { elapsedMs } from '../time/clock.js';
import type { Log } from './log.js';

const INTERVAL_MS = 1_000;

export class RationedLog {
  /** By message; there are only as many as the code has. */
  private readonly kinds = new Map<string, { lastMs: number; leftOut: number }>();

  constructor(
    private readonly log: Log,
    private readonly nowMs: () => number = elapsedMs,
  ) {}

  /** `message`: a constant, which is the kind. */
  warn(fields: Record<string, unknown>, message: string): void {
    const nowMs = this.nowMs();
    let kind = this.kinds.get(message);
    if (kind === undefined) {
      kind = { lastMs: Number.NEGATIVE_INFINITY, leftOut: 0 };
      this.kinds.set(message, kind);
    }
    if (nowMs - kind.lastMs < INTERVAL_MS) {
      kind.leftOut++;
      return;
    }
    this.log.warn({ ...fields, leftOut: kind.leftOut }, message);
    kind.lastMs = nowMs;
    kind.leftOut = 0;
  }
}
