/**
 * The users to whom an operator gave another rate tier than 1. The engine only records the tiers;
 * the gateway's fair use multiplies its rates by them.
 */
import type { Archive } from '../../storage/archive.js';

export class RateTiers {
  private readonly tiers = new Map<number, number>();

  of(userId: number): number {
    return this.tiers.get(userId) ?? 1;
  }

  set(userId: number, tier: number): void {
    if (tier === 1) this.tiers.delete(userId);
    else this.tiers.set(userId, tier);
  }

  view(): [userId: number, tier: number][] {
    return [...this.tiers];
  }

  archive(archive: Archive): void {
    const rows = this.view();
    const count = archive.number(rows.length);
    for (let i = 0; i < count; i++) {
      const [userId, tier] = rows[i] ?? [0, 0];
      this.tiers.set(archive.number(userId), archive.number(tier));
    }
  }
}
