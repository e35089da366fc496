/** How many entries each user's list has: a number per user, 0 until told otherwise. */
export class ListCounts {
  private counts = new Uint32Array(1_024);

  of(userId: number): number {
    return this.counts[userId] ?? 0;
  }

  /** Counts one more and returns its ordinal. */
  next(userId: number): number {
    if (userId >= this.counts.length) this.grow(userId);
    return ++this.counts[userId]!;
  }

  /** Counts more of several users at once: `counts` has as many as `ids`. */
  addAll({ ids, counts }: { ids: Float64Array; counts: Uint32Array }): void {
    for (let i = 0; i < ids.length; i++) this.set(ids[i]!, this.of(ids[i]!) + counts[i]!);
  }

  set(userId: number, count: number): void {
    if (userId >= this.counts.length) this.grow(userId);
    this.counts[userId] = count;
  }

  copy(): ListCounts {
    const copy = new ListCounts();
    copy.counts = this.counts.slice();
    return copy;
  }

  private grow(userId: number): void {
    const counts = new Uint32Array(Math.max(userId + 1, this.counts.length * 2));
    counts.set(this.counts);
    this.counts = counts;
  }
}
