/**
 * Several feeds at once, each a source with a name. The engine takes the median of their prices.
 */
import type { PriceFeed, PriceSink } from './price-feed.js';

export class SeveralFeeds implements PriceFeed {
  constructor(private readonly feeds: readonly { source: string; feed: PriceFeed }[]) {}

  start(sink: PriceSink): void {
    for (const { source, feed } of this.feeds) {
      feed.start((symbol, priceMicros, observedAtMs) =>
        sink(symbol, priceMicros, observedAtMs, source),
      );
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.feeds.map(({ feed }) => feed.stop()));
  }
}
