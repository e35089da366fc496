/** The last price of each source, for operators. Lost on restart; the journal has all prices. */

export interface SourceTick {
  source: string;
  priceMicros: number;
  observedAtMs: number;
}

const FIRST_PRICE_MS = 60_000;

export class PriceTicks {
  /** By symbol, then by source. */
  private readonly last = new Map<string, Map<string, SourceTick>>();
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly symbols: readonly string[],
    private readonly startedAtMs: number,
  ) {}

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

  countsBySource(): Iterable<readonly [source: string, count: number]> {
    return this.counts;
  }

  /** `null` if every asset has a price, or just after startup. */
  warning(nowMs: number): string | null {
    const silent = this.silent();
    if (silent.length === 0 || nowMs - this.startedAtMs < FIRST_PRICE_MS) return null;
    return `there have been no prices of ${silent.join(', ')} since the start`;
  }

  private silent(): string[] {
    return this.symbols.filter((symbol) => !this.last.has(symbol));
  }

  /** Without a price: the time of startup, and no source. */
  *newest(): Generator<readonly [symbol: string, Pick<SourceTick, 'source' | 'observedAtMs'>]> {
    for (const symbol of this.silent())
      yield [symbol, { source: '', observedAtMs: this.startedAtMs }];
    for (const [symbol, ticks] of this.last)
      for (const tick of ticks.values()) yield [symbol, tick];
  }
}
