/** The markets as the clients of the soak know them: open ones, prices, and ended ones. */

/** Exchange time: a market is resolved 2 s after its end, or 60 s after it without prices. */
const RESOLVED_AFTER_MS = 60_000;
/** Real time until the resolution is known here. */
const KNOWN_AFTER_MS = 300;

export interface OpenMarket {
  id: string;
  /** The last known price of UP, in ticks. */
  upTicks: number;
}

export class Floor {
  open: OpenMarket[] = [];
  /** Markets that are no longer open, with the time at which this was seen. */
  private readonly ended = new Map<string, number>();
  opened = 0;
  private readonly resolvedAfterMs: number;

  /** `speed`: exchange time as a multiple of real time. */
  constructor(speed: number) {
    this.resolvedAfterMs = RESOLVED_AFTER_MS / speed + KNOWN_AFTER_MS;
  }

  update(ids: readonly string[], nowMs: number): void {
    for (const market of this.open) if (!ids.includes(market.id)) this.ended.set(market.id, nowMs);
    this.open = ids.map((id) => this.find(id) ?? this.newMarket(id));
  }

  /** `outcome` traded at this price, in dollars. */
  traded(id: string, outcome: string, price: number): void {
    const market = this.find(id);
    if (market === undefined) return;
    const ticks = Math.round(price * 1_000);
    market.upTicks = outcome === 'UP' ? ticks : 1_000 - ticks;
  }

  isOpen(id: string): boolean {
    return this.find(id) !== undefined;
  }

  isResolved(id: string, nowMs: number): boolean {
    const endedMs = this.ended.get(id);
    return endedMs !== undefined && nowMs - endedMs > this.resolvedAfterMs;
  }

  private find(id: string): OpenMarket | undefined {
    return this.open.find((market) => market.id === id);
  }

  private newMarket(id: string): OpenMarket {
    this.opened++;
    return { id, upTicks: 500 };
  }
}
