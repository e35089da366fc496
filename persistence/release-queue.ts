/**
 * Answers, reads and stream messages that wait until their sequence is durable.
 *
 * Invariant: targets are released by sequence, then in the order in which they were added. The
 * queue is a ring of two arrays that grow and are reused, so waiting allocates nothing.
 */

export interface ReleaseTarget {
  release(): void;
}

/** Fills empty slots, so that garbage collection takes released targets. */
const EMPTY: ReleaseTarget = Object.freeze({ release: () => {} });

export class ReleaseQueue {
  private sequences = new Float64Array(1024);
  private targets: ReleaseTarget[] = new Array<ReleaseTarget>(1024).fill(EMPTY);
  private head = 0;
  length = 0;

  add(sequence: number, target: ReleaseTarget): void {
    if (this.length === this.targets.length) this.grow();
    const mask = this.targets.length - 1;
    let at = (this.head + this.length) & mask;
    // Targets almost always arrive in order; others are moved to their place.
    for (let left = this.length; left > 0; left--) {
      const before = (at - 1) & mask;
      if (this.sequences[before]! <= sequence) break;
      this.sequences[at] = this.sequences[before]!;
      this.targets[at] = this.targets[before]!;
      at = before;
    }
    this.sequences[at] = sequence;
    this.targets[at] = target;
    this.length++;
  }

  /** Removes and returns the next target up to `durableSequence`; null if none. */
  take(durableSequence: number): ReleaseTarget | null {
    if (this.length === 0 || this.sequences[this.head]! > durableSequence) return null;
    const target = this.targets[this.head]!;
    this.targets[this.head] = EMPTY;
    this.head = (this.head + 1) & (this.targets.length - 1);
    this.length--;
    return target;
  }

  clear(): void {
    this.targets.fill(EMPTY);
    this.head = 0;
    this.length = 0;
  }

  private grow(): void {
    const capacity = this.targets.length;
    const sequences = new Float64Array(capacity * 2);
    const targets = new Array<ReleaseTarget>(capacity * 2).fill(EMPTY);
    for (let i = 0; i < capacity; i++) {
      const from = (this.head + i) & (capacity - 1);
      sequences[i] = this.sequences[from]!;
      targets[i] = this.targets[from]!;
    }
    this.sequences = sequences;
    this.targets = targets;
    this.head = 0;
  }
}
