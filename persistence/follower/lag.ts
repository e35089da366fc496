/**
 * The follower's lag: how long the oldest commit that is not in the history has been durable.
 * Commits within 100 ms share the time of the first, so the lag is at most 100 ms too large.
 */
const MARK_MS = 100;
/** The most marks kept. When they are full, the lag is far beyond any limit. */
const MARKS_MAX = 4_096;

interface Mark {
  /** Of the last commit in the mark. */
  sequence: number;
  /** Of the first. */
  atMs: number;
}

export class CommitMarks {
  private marks: Mark[] = [];
  private lastSequence = 0;

  committed(sequence: number, nowMs: number): void {
    this.lastSequence = sequence;
    const last = this.marks.at(-1);
    if (last !== undefined && (nowMs - last.atMs < MARK_MS || this.marks.length >= MARKS_MAX)) {
      last.sequence = sequence;
    } else {
      this.marks.push({ sequence, atMs: nowMs });
    }
  }

  /** 0 when the history has every commit. After a rebuild begins, counts from the next call. */
  lagMs(projectedSequence: number, nowMs: number): number {
    if (this.marks.length === 0 && this.lastSequence > projectedSequence) {
      this.marks.push({ sequence: this.lastSequence, atMs: nowMs });
    }
    const done = this.marks.findIndex(({ sequence }) => sequence > projectedSequence);
    if (done === -1) {
      this.marks = [];
      return 0;
    }
    if (done > 0) this.marks.splice(0, done);
    return nowMs - this.marks[0]!.atMs;
  }
}
