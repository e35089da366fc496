/** The example bots' estimate of UP's price, from the asset's distance to its start price. */
import type { Market, Stream } from '../index.js';

const DOLLAR_TICKS = 1_000;

export class FairPrice {
  /** In dollars, by asset. */
  private readonly prices = new Map<string, number>();

  private readonly stream: Stream;
  /** Ticks by which UP's price moves if the asset moves by 100%. */
  private readonly slope: number;

  constructor(stream: Stream, slope: number) {
    this.stream = stream;
    this.slope = slope;
  }

  follow(asset: string): void {
    if (this.prices.has(asset)) return;
    this.prices.set(asset, Number.NaN);
    this.stream.subscribe(`prices:${asset}`, ({ data }) => {
      if (data.price !== null) this.prices.set(asset, data.price);
    });
  }

  /** From 30 to 970, in ticks of 0.001 dollar. */
  ticks({ asset, startPrice }: Market): number {
    const price = this.prices.get(asset) ?? Number.NaN;
    const move = Number.isNaN(price) || startPrice === null ? 0 : price / startPrice - 1;
    return Math.round(Math.min(Math.max(DOLLAR_TICKS / 2 + move * this.slope, 30), 970));
  }
}
