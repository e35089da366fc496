/**
 * Compares the clock of a candidate for leader with the journal's, the lease's and the database's.
 * A leader's time cannot be undone, so a machine that is off by over two seconds must not lead.
 *
 * Invariant: observed times advance by elapsed time, so setting the machine's clock does not move
 * them. A later observation only counts if it is ahead, so slow answers do no harm.
 */
import { elapsedMs, machineMs } from '../observe/clock.js';

/** Machines with network time differ by far less. */
const DIFFERENCE_MS_MAX = 2_000;
/** Older observations stop counting after one or two of these periods, if newer ones exist. */
const KEPT_MS = 60_000;
/** An observation younger than this may be an old time, read late. */
const SETTLED_MS = 2_000;

type Elapsed = () => number;

class ToldTime {
  private lastMs = Number.NaN;
  private firstElapsedMs: number | null = null;
  private lastElapsedMs = 0;
  /** Largest difference between observed and elapsed time, in each of the last two periods. */
  private older = Number.NEGATIVE_INFINITY;
  private newest = Number.NEGATIVE_INFINITY;
  private sinceMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly elapsed: Elapsed,
    private readonly settledMs: number,
  ) {}

  /** Ignores a repeated time. */
  told(atMs: number): void {
    if (atMs === this.lastMs) return;
    this.lastMs = atMs;
    const elapsedMs = this.elapsed();
    this.firstElapsedMs ??= elapsedMs;
    this.lastElapsedMs = elapsedMs;
    const isOver = elapsedMs - this.sinceMs > KEPT_MS;
    if (isOver) {
      this.older = this.newest;
      this.sinceMs = elapsedMs;
    }
    const offsetMs = atMs - elapsedMs;
    this.newest = isOver ? offsetMs : Math.max(this.newest, offsetMs);
  }

  /** `null` if unknown. */
  get nowMs(): number | null {
    const { firstElapsedMs } = this;
    if (firstElapsedMs === null || this.lastElapsedMs - firstElapsedMs < this.settledMs)
      return null;
    return Math.max(this.older, this.newest) + this.elapsed();
  }
}

export class CandidateClock {
  readonly journal: ToldTime;
  readonly lease: ToldTime;
  readonly database: ToldTime;
  private readonly wall: () => number;

  constructor({
    wall = machineMs,
    elapsed = elapsedMs,
  }: { wall?: () => number; elapsed?: Elapsed }) {
    this.wall = wall;
    this.journal = new ToldTime(elapsed, SETTLED_MS);
    this.lease = new ToldTime(elapsed, SETTLED_MS);
    this.database = new ToldTime(elapsed, 0);
  }

  /** Against the time that differs most. Negative if behind; `null` if no other time is known. */
  get aheadMs(): number | null {
    return this.worst()?.aheadMs ?? null;
  }

  /** Why this machine must not lead, and what to do, or `null`. */
  get problem(): string | null {
    const worst = this.worst();
    if (worst === null || Math.abs(worst.aheadMs) <= DIFFERENCE_MS_MAX) return null;
    const seconds = (Math.abs(worst.aheadMs) / 1_000).toFixed(1);
    return (
      `the clock of this machine is ${seconds} s ${worst.aheadMs > 0 ? 'ahead of' : 'behind'} ${worst.name}. A leader may ` +
      `differ by at most ${DIFFERENCE_MS_MAX / 1_000} s. Correct the clock that is wrong; a restart is not needed. If it is ` +
      "not this machine's and cannot be corrected, start this exchange once with ACCEPT_CLOCK=on."
    );
  }

  private worst(): { name: string; aheadMs: number } | null {
    const wallMs = this.wall();
    const told = [
      ["the clock of the database's primary", this.database],
      ["the leader's last lease", this.lease],
      ["the time of the journal's commands", this.journal],
    ] as const;
    let worst: { name: string; aheadMs: number } | null = null;
    for (const [name, { nowMs }] of told) {
      if (nowMs === null) continue;
      const aheadMs = wallMs - nowMs;
      if (worst === null || Math.abs(aheadMs) > Math.abs(worst.aheadMs)) worst = { name, aheadMs };
    }
    return worst;
  }
}
