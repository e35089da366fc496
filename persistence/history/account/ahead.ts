/** A list of one account, read in pieces and taken entry by entry, the oldest first. */
import { RUN_ENTRIES } from '../runs/format.js';

export class Ahead<Of> {
  /** The ordinal of the next entry to read. */
  next = 1;
  private entries: Of[] = [];
  private taken = 0;

  constructor(
    private readonly count: number,
    private readonly read: (first: number, last: number) => Promise<Of[]>,
  ) {}

  /** undefined: there is no other. */
  async peek(): Promise<Of | undefined> {
    if (this.taken === this.entries.length && this.next <= this.count) {
      const last = Math.min(this.next + RUN_ENTRIES - 1, this.count);
      this.entries = await this.read(this.next, last);
      this.taken = 0;
      this.next = last + 1;
    }
    return this.entries[this.taken];
  }

  take(): Of | undefined {
    return this.entries[this.taken++];
  }
}
