/**
 * The follower's lag: how long the oldest commit that is not in the history has been durable, and
 * whether the number of such commands grows too much.
 */

/** Commits within this time share the time of the first: the lag is at most so much too large. */
const MARK_MS = 100;
/** Seven minutes. The last mark then grows: by then it is enough that the lag is not too small. */
const MARKS_MAX = 4_096;

interface Mark {
  /** The sequence of the last commit in the mark. */
  sequence: number;
  /** The time of its first commit. */
  atMs: number;
}

export class CommitMarks {
  private marks: Mark[] = [];
  private lastSequence = 0;

  /** What the history has needs no mark: it goes here too, because nobody may read the lag. */
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

  /** 0 when the history has every commit. After a rebuild begins, counts from the next call. */
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

/**
 * A bound on the growth of the lag, in commands. A follower that has fallen behind by more than
 * this, from where it was closest to the journal's end, is not keeping up. A follower that builds
 * the history anew starts far behind; this alone is no reason to refuse orders, but it must not
 * fall back further.
 */
export class LagBound {
  private projected = 0;
  private leastCommands = Number.POSITIVE_INFINITY;

  constructor(private readonly commandsMax: number) {}

  isExceeded(durableSequence: number, projectedSequence: number): boolean {
    if (projectedSequence < this.projected) this.reset();
    this.projected = projectedSequence;
    const commands = durableSequence - projectedSequence;
    if (commands < this.leastCommands) this.leastCommands = commands;
    return commands - this.leastCommands > this.commandsMax;
  }

  /** Counts from the next call: while the follower could not work, it could not keep up. */
  reset(): void {
    this.leastCommands = Number.POSITIVE_INFINITY;
  }
}
