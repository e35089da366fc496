/**
 * The undo log: while it records, every write to the engine's state leaves its old value here, so
 * that an atomic batch can be undone. Otherwise it is off and costs one predictable branch per
 * write.
 */

/** A piece of state that can put an old value back. */
export interface Undoable {
  restore(index: number, old: number): void;
}

export class UndoLog {
  recording = false;
  private readonly targets: Undoable[] = [];
  private readonly indices: number[] = [];
  private readonly olds: number[] = [];

  begin(): void {
    if (this.recording) throw new Error('the undo log is recording already');
    this.recording = true;
  }

  record(target: Undoable, index: number, old: number): void {
    this.targets.push(target);
    this.indices.push(index);
    this.olds.push(old);
  }

  /** Keeps what was done. */
  keep(): void {
    this.recording = false;
    this.forget();
  }

  /** Puts everything back, newest first. */
  rollBack(): void {
    this.recording = false;
    for (let i = this.targets.length - 1; i >= 0; i--)
      this.targets[i]!.restore(this.indices[i]!, this.olds[i]!);
    this.forget();
  }

  private forget(): void {
    this.targets.length = 0;
    this.indices.length = 0;
    this.olds.length = 0;
  }
}

/** For state that no atomic batch changes. It never records. */
export const NO_UNDO = new UndoLog();
