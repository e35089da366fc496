/**
 * The JSON of resolved markets, which is long and never changes: each is written once and kept as
 * bytes. Bounded in bytes; the least recently used is dropped first.
 */
import type { HashedParts } from './market.js';

/** About 4,500 markets with a full price history: three assets for two weeks. */
const BYTES_MAX = 64 * 1024 * 1024;

export class MarketJsonCache {
  private readonly kept = new Map<number, HashedParts>();
  private bytes = 0;

  constructor(private readonly bytesMax = BYTES_MAX) {}

  get(marketId: number): HashedParts | undefined {
    const parts = this.kept.get(marketId);
    if (parts === undefined) return undefined;
    // The map is ordered by last use.
    this.kept.delete(marketId);
    this.kept.set(marketId, parts);
    return parts;
  }

  add(marketId: number, parts: HashedParts): void {
    this.kept.set(marketId, parts);
    this.bytes += sizeOf(parts);
    for (const [oldest, its] of this.kept) {
      if (this.bytes <= this.bytesMax) break;
      this.kept.delete(oldest);
      this.bytes -= sizeOf(its);
    }
  }
}

function sizeOf({ head, tail }: HashedParts): number {
  return head.length + tail.length;
}
