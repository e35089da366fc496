/**
 * What waits for its sequence to be durable: replies, reads and stream messages, in order of sequence.
 *
 * Always holds: a ring of plain columns that grows and is then reused, so waiting allocates nothing; targets of one
 * sequence are released in the order in which they came.
 */

/** Something that leaves the process once it may. */
export interface ReleaseTarget {
  release(): void;
}

/** Stands in slots that wait for nothing, so that what was released can be forgotten. */
const NOTHING: ReleaseTarget = Object.freeze({ release: () => {} });

export class ReleaseQueue {
  private sequences = new Float64Array(1024);
  private targets: ReleaseTarget[] = new Array<ReleaseTarget>(1024).fill(NOTHING);
  private head = 0;
  length = 0;

  add(sequence: number, target: ReleaseTarget): void {
    if (this.length === this.targets.length) this.grow();
    const mask = this.targets.length - 1;
    let at = (this.head + this.length) & mask;
    // They come in order, almost always; one that does not moves up to its place.
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

  /** Takes out the next target that waits for no more than `durableSequence`; null when there is none. */
  take(durableSequence: number): ReleaseTarget | null {
    if (this.length === 0 || this.sequences[this.head]! > durableSequence) return null;
    const target = this.targets[this.head]!;
    this.targets[this.head] = NOTHING;
    this.head = (this.head + 1) & (this.targets.length - 1);
    this.length--;
    return target;
  }

  /** Forgets everything that waits. */
  clear(): void {
    this.targets.fill(NOTHING);
    this.head = 0;
    this.length = 0;
  }

  private grow(): void {
    const capacity = this.targets.length;
    const sequences = new Float64Array(capacity * 2);
    const targets = new Array<ReleaseTarget>(capacity * 2).fill(NOTHING);
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
