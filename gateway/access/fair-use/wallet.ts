/** What one request pays: its address, and its user once admission has found one. */
import { Bill, type FairUse, type Quota, type RateLimitState } from './fair-use.js';

export class Wallet {
  readonly bill: Bill;
  /** The least that the request pays: the units of its body. */
  leastUnits = 1;
  /** Bucket state after the last charge. */
  rateLimit: RateLimitState | null = null;

  constructor(
    private readonly fairUse: FairUse,
    sender: Bill['sender'],
    public quota: Quota | null,
  ) {
    this.bill = new Bill(sender);
  }

  /** Charges at least {@link leastUnits} in total. Returns 0, or the wait, with nothing charged. */
  charge(count: number): number {
    if (this.quota === null) return 0;
    const result = this.fairUse.charge(this.quota, this.bill, Math.max(count, this.leastUnits));
    this.rateLimit = result;
    return result === null || result.granted ? 0 : result.waitMs;
  }

  owe(count: number): void {
    if (count > 0 && this.quota !== null) this.rateLimit = this.fairUse.owe(this.bill, count);
  }

  giveBack(): void {
    this.fairUse.giveBack(this.bill);
    this.rateLimit = null;
  }
}
