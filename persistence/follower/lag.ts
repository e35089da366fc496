/**
 * The follower's lag: how long the oldest commit that is not in the history has been durable, and
 * whether the number of such commands grows too much.
 */

/** Commits within this time share the time of the first: the lag is at most so much too large. */
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
