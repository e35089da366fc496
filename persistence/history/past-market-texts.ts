/**
 * Texts of markets that are decided: they never change again, and a page of them is long, so each is written once and kept as
 * bytes. Bounded by those bytes; what was asked for longest ago goes first.
 */
import type { MarketParts } from './market-text.js';

/** Some 4,500 markets with a full price history: three assets for two weeks. */
const BYTES_MAX = 64 * 1024 * 1024;

export class PastMarketTexts {
  private readonly kept = new Map<number, MarketParts<Uint8Array>>();
  private bytes = 0;

  constructor(private readonly bytesMax = BYTES_MAX) {}

  get(marketId: number): MarketParts<Uint8Array> | undefined {
    const parts = this.kept.get(marketId);
    if (parts === undefined) return undefined;
    // The last in the map is the one asked for last.
    this.kept.delete(marketId);
    this.kept.set(marketId, parts);
    return parts;
  }

  /** Of a market that is not kept. */
  keep(marketId: number, parts: MarketParts<Uint8Array>): void {
    this.kept.set(marketId, parts);
    this.bytes += sizeOf(parts);
    for (const [oldest, its] of this.kept) {
      if (this.bytes <= this.bytesMax) break;
      this.kept.delete(oldest);
      this.bytes -= sizeOf(its);
    }
  }
}

function sizeOf({ head, tail }: MarketParts<Uint8Array>): number {
  return head.length + tail.length;
}
