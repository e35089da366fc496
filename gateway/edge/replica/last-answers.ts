/**
 * For each user, the sequence of the last answer that this replica has forwarded, so that the
 * user's next read is at least as new. A sequence is forgotten once this replica has reached it.
 */

export class LastAnswers {
  /** The oldest note first. */
  private readonly sequences = new Map<number, number>();

  note(userId: number, sequence: number): void {
    if (userId === 0 || sequence <= this.of(userId)) return;
    this.sequences.delete(userId);
    this.sequences.set(userId, sequence);
  }

  /** 0: this replica's state is new enough. */
  of(userId: number): number {
    return this.sequences.get(userId) ?? 0;
  }

  /** Call when the replica has advanced. */
  reached(sequence: number): void {
    for (const [userId, noted] of this.sequences) {
      if (noted > sequence) return;
      this.sequences.delete(userId);
    }
  }
}
