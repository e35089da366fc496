/**
 * The guard against absurd prices of one asset: a price that is far from the last one is held back
 * until later prices have confirmed it for a while.
 *
 * Two prices are far apart if the greater is more than 5/4 of the smaller.
 */

import { GUARD_CONFIRMED_MS, GUARD_PRICES, GUARD_RATIO } from '../../interface/parameters.js';
import type { Archive } from '../../storage/archive.js';

export function areFarApart(aMicros: number, bMicros: number): boolean {
  const { above, below } = GUARD_RATIO;
  return Math.max(aMicros, bMicros) * below > Math.min(aMicros, bMicros) * above;
}

export class PriceGuard {
  /** The held price, and since when; 0 if none. */
  heldMicros = 0;
  heldSinceMs = 0;
  /** Consecutive held prices that are not far apart. */
  private count = 0;

  /** Whether a new price is held back. `lastMicros` is the price that counts; null if none yet. */
  holds(lastMicros: number | null, priceMicros: number, nowMs: number): boolean {
    if (lastMicros === null || !areFarApart(lastMicros, priceMicros)) {
      this.clear();
      return false;
    }
    if (this.count === 0 || areFarApart(this.heldMicros, priceMicros)) {
      this.heldSinceMs = nowMs;
      this.count = 0;
    }
    this.heldMicros = priceMicros;
    this.count++;
    if (this.count < GUARD_PRICES || nowMs - this.heldSinceMs < GUARD_CONFIRMED_MS) return true;
    this.clear();
    return false;
  }

  archive(archive: Archive): void {
    this.heldMicros = archive.number(this.heldMicros);
    this.heldSinceMs = archive.number(this.heldSinceMs);
    this.count = archive.number(this.count);
  }

  private clear(): void {
    this.heldMicros = 0;
    this.heldSinceMs = 0;
    this.count = 0;
  }
}
