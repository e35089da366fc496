/** Each user's last forwarded sequence, which the user's next read must reach. */

export class LastSequences {
  private readonly sequences = new Map<number, number>();

  note(userId: number, sequence: number): void {
    if (userId === 0 || sequence <= this.of(userId)) return;
    this.sequences.delete(userId);
    this.sequences.set(userId, sequence);
  }

  /** Returns 0 if this replica's state is new enough. */
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
