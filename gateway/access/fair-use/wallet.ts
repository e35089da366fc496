/** What one request pays: its address, and its user once admission has found one. */
import { Bill, type FairUse, type Quota, type RateLimitState } from './fair-use.js';

export class Wallet {
  readonly bill: Bill;
  /** The least that the request pays: the units of its body. */
  leastUnits = 1;
  /** The state of the most limiting bucket after the last charge. */
  rateLimit: RateLimitState | null = null;

  constructor(
    private readonly fairUse: FairUse,
    sender: Bill['sender'],
    /** `null` if the request is uncounted. */
    public quota: Quota | null,
  ) {
    this.bill = new Bill(sender);
  }

  /**
   * Charges `count` units in total, at least {@link leastUnits}. If that exceeds a limit, charges
   * nothing and returns the time to wait; otherwise 0.
   */
  charge(count: number): number {
    if (this.quota === null) return 0;
    const result = this.fairUse.charge(this.quota, this.bill, Math.max(count, this.leastUnits));
    this.rateLimit = result;
    return result === null || result.granted ? 0 : result.waitMs;
  }

  /** Adds `count` units to the charge without checking the limit. */
  owe(count: number): void {
    if (count > 0 && this.quota !== null) this.rateLimit = this.fairUse.owe(this.bill, count);
  }

  giveBack(): void {
    this.fairUse.giveBack(this.bill);
    this.rateLimit = null;
  }
}
