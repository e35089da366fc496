/** Warnings that clients can cause at any rate: at most one line per kind and second. */
import { elapsedMs } from './clock.js';
import type { Log } from './log.js';

const INTERVAL_MS = 1_000;

export class RationedLog {
  private readonly kinds = new Map<string, { lastMs: number; leftOut: number }>();

  constructor(
    private readonly log: Log,
    private readonly nowMs: () => number = elapsedMs,
  ) {}

  /** `message` must be a constant, and identifies the kind. */
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
    this.log.warn({ ...fields, moreLikeThis: kind.leftOut }, message);
    kind.lastMs = nowMs;
    kind.leftOut = 0;
  }
}
