/**
 * How far behind the follower is in time: for how long the oldest commit that it has not projected has been durable.
 *
 * Commits within 100 ms share a mark that has the time of the first, so the lag is never told too small, and too large
 * by no more than that.
 */
const MARK_MS = 100;
/** Marks kept; whatever comes when they are full is already far beyond any limit on the lag. */
const MARKS_MAX = 4_096;

interface Mark {
  /** Of the last commit of the mark. */
  sequence: number;
  /** Of its first. */
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

  /**
   * 0 when everything that was committed is projected. A history that is made again goes back: then it counts from when
   * that is first seen.
   */
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
