/** What the example bots believe: a chance of UP from how far the asset is from its start price. */
import type { Market, Stream } from '../index.js';

const DOLLAR_TICKS = 1_000;

export class FairPrice {
  /** Dollars, by asset. */
  private readonly prices = new Map<string, number>();

  private readonly stream: Stream;
  /** Ticks of a move by the whole start price. */
  private readonly slope: number;

  constructor(stream: Stream, slope: number) {
    this.stream = stream;
    this.slope = slope;
  }

  /** Follows the price of an asset; once is enough. */
  follow(asset: string): void {
    if (this.prices.has(asset)) return;
    this.prices.set(asset, Number.NaN);
    this.stream.subscribe(`prices:${asset}`, ({ data }) => {
      if (data.price !== null) this.prices.set(asset, data.price);
    });
  }

  /** The price of UP, in ticks of 0.001 dollar, from 30 to 970. */
  ticks({ asset, startPrice }: Market): number {
    const price = this.prices.get(asset) ?? Number.NaN;
    const move = Number.isNaN(price) || startPrice === null ? 0 : price / startPrice - 1;
    return Math.round(Math.min(Math.max(DOLLAR_TICKS / 2 + move * this.slope, 30), 970));
  }
}
