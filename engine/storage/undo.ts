/**
 * The undo log, for atomic batches. While it records, a table saves the image of a row before
 * changing the row, and an index saves its additions and removals. Blocks of counters are copied
 * when recording begins. Without recording, the cost is one predictable branch per row.
 */

/** A part of the state that can undo a change, given the two numbers that it recorded. */
export interface Undoable {
  restore(a: number, b: number): void;
}

export class UndoLog {
  recording = false;
  private readonly targets: Undoable[] = [];
  private readonly as: number[] = [];
  private readonly bs: number[] = [];
  private images = new Int32Array(1_024);
  private imagesEnd = 0;
  private readonly blocks: Float64Array[] = [];
  private readonly blocksBefore: Float64Array[] = [];

  /** A block of counters that an atomic batch may change. */
  block(length: number): Float64Array {
    const block = new Float64Array(length);
    this.blocks.push(block);
    this.blocksBefore.push(new Float64Array(length));
    return block;
  }

  begin(): void {
    if (this.recording) throw new Error('the undo log is recording already');
    this.recording = true;
    for (let i = 0; i < this.blocks.length; i++) this.blocksBefore[i]!.set(this.blocks[i]!);
  }

  record(target: Undoable, a: number, b: number): void {
    this.targets.push(target);
    this.as.push(a);
    this.bs.push(b);
  }

  /** Records `length` words of a target; `restore` gets `a` and their place for {@link imageAt}. */
  recordImage(target: Undoable, a: number, words: Int32Array, from: number, length: number): void {
    const start = this.imagesEnd;
    this.imagesEnd = start + length;
    if (this.imagesEnd > this.images.length) {
      const images = new Int32Array(this.images.length * 2);
      images.set(this.images);
      this.images = images;
    }
    // Words, not doubles: two integers may look like a NaN, and a copy may change a NaN's bits.
    for (let i = 0; i < length; i++) this.images[start + i] = words[from + i]!;
    this.record(target, a, start);
  }

  imageAt(at: number): number {
    return this.images[at]!;
  }

  /** Keeps the recorded changes. */
  keep(): void {
    this.recording = false;
    this.forget();
  }

  /** Undoes the recorded changes, newest first. */
  rollBack(): void {
    this.recording = false;
    for (let i = this.targets.length - 1; i >= 0; i--)
      this.targets[i]!.restore(this.as[i]!, this.bs[i]!);
    for (let i = 0; i < this.blocks.length; i++) this.blocks[i]!.set(this.blocksBefore[i]!);
    this.forget();
  }

  private forget(): void {
    this.targets.length = 0;
    this.as.length = 0;
    this.bs.length = 0;
    this.imagesEnd = 0;
  }
}
