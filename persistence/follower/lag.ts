/** The follower's lag: how long the oldest commit that is not in the history has been durable. */

/**
 * Commits within this time share the time of the first, so the reported lag is too large by at most
 * this much.
 */
const MARK_MS = 100;
/**
 * At least seven minutes of marks. Further commits join the last mark, because a lag that long need
 * not be exact.
 */
const MARKS_MAX = 4_096;

interface Mark {
  /** The sequence of the last commit in the mark. */
  sequence: number;
  /** The time of the first commit in the mark. */
  atMs: number;
}

export class CommitMarks {
  private marks: Mark[] = [];
  private lastSequence = 0;

  /**
   * Notes a commit, and drops marks that the history has passed. Pruned here too, because `lagMs`
   * may never be called.
   */
  committed(sequence: number, projectedSequence: number, nowMs: number): void {
    this.lastSequence = sequence;
    const last = this.marks.at(-1);
    if (last !== undefined && nowMs - last.atMs < MARK_MS) {
      last.sequence = sequence;
      return;
    }
    this.forget(projectedSequence);
    if (this.marks.length < MARKS_MAX) this.marks.push({ sequence, atMs: nowMs });
    else this.marks.at(-1)!.sequence = sequence;
  }

  /**
   * The lag; 0 if the history has every commit. After a rebuild begins, the lag counts from the
   * next call.
   */
  lagMs(projectedSequence: number, nowMs: number): number {
    if (this.marks.length === 0 && this.lastSequence > projectedSequence) {
      this.marks.push({ sequence: this.lastSequence, atMs: nowMs });
    }
    this.forget(projectedSequence);
    return this.marks.length === 0 ? 0 : nowMs - this.marks[0]!.atMs;
  }

  private forget(projectedSequence: number): void {
    const done = this.marks.findIndex(({ sequence }) => sequence > projectedSequence);
    this.marks.splice(0, done === -1 ? this.marks.length : done);
  }
}
