/**
 * The last price that each source delivered, for operators. Lost at a restart; the journal has all.
 */

export interface SourceTick {
  source: string;
  priceMicros: number;
  observedAtMs: number;
}

export class PriceTicks {
  /** By symbol, then by source. */
  private readonly last = new Map<string, Map<string, SourceTick>>();
  private readonly counts = new Map<string, number>();

  add(symbol: string, tick: SourceTick): void {
    let ofSymbol = this.last.get(symbol);
    if (ofSymbol === undefined) {
      ofSymbol = new Map();
      this.last.set(symbol, ofSymbol);
    }
    ofSymbol.set(tick.source, tick);
    this.counts.set(tick.source, (this.counts.get(tick.source) ?? 0) + 1);
  }

  of(symbol: string): SourceTick[] {
    return [...(this.last.get(symbol)?.values() ?? [])];
  }

  /** Prices so far, by source. */
  countsBySource(): Iterable<readonly [source: string, count: number]> {
    return this.counts;
  }

  /** When the newest price of each asset and source was observed. */
  *newest(): Generator<readonly [symbol: string, tick: SourceTick]> {
    for (const [symbol, ticks] of this.last)
      for (const tick of ticks.values()) yield [symbol, tick];
  }
}
