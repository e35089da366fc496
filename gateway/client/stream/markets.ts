/**
 * The active and the upcoming markets, as the stream tells: one opens when another ends.
 *
 * Always holds: an active market is announced as opened before anything else, and as ended or
 * resolved once at most, also if that happened while the connection was lost.
 */
import type { Market } from '../types.js';
import type { ChannelMessage, MarketChange } from './messages.js';
import type { Stream } from './stream.js';

export interface MarketListener {
  /** It trades, without a start price; called again when it is paused or resumed. */
  onUpcoming?: (market: Market) => void;
  /** It can be traded: it opened, or it was open when the stream began. */
  onOpened?: (market: Market) => void;
  /** It trades no more. If that was missed, `market` is its last known state. */
  onEnded?: (market: Market) => void;
  onResolved?: (market: Market) => void;
  /** Anything else, such as the final start price. */
  onChanged?: (market: Market) => void;
}

export class MarketList {
  /** The active ones, by id. */
  readonly active = new Map<string, Market>();
  /** Those of the next windows, by id. */
  readonly upcoming = new Map<string, Market>();

  constructor(private readonly listener: MarketListener = {}) {}

  apply(message: ChannelMessage<'markets'>): void {
    if (message.type === 'delta') {
      for (const change of message.data.changes) this.change(change);
      return;
    }
    const { markets } = message.data;
    const ids = new Set(markets.map(({ id }) => id));
    const known = [...this.active.values(), ...this.upcoming.values()];
    for (const market of known) if (!ids.has(market.id)) this.end(market);
    for (const market of markets) this.enter(market);
  }

  /** `market` is as after the command, which may have resolved what it ended. */
  private change({ change, market }: MarketChange): void {
    if (market === null) return;
    if (change === 'ended' || change === 'resolved') this.end(market);
    else if (market.status === 'active' || market.status === 'upcoming') this.enter(market);
    if (change === 'resolved') this.listener.onResolved?.(market);
  }

  private enter(market: Market): void {
    if (market.status === 'upcoming') {
      this.upcoming.set(market.id, market);
      this.listener.onUpcoming?.(market);
      return;
    }
    this.upcoming.delete(market.id);
    const isNew = !this.active.has(market.id);
    this.active.set(market.id, market);
    if (isNew) this.listener.onOpened?.(market);
    else this.listener.onChanged?.(market);
  }

  private end(market: Market): void {
    this.upcoming.delete(market.id);
    if (this.active.delete(market.id)) this.listener.onEnded?.(market);
  }
}

/** The list of markets, following the stream, and the function that ends that. */
export function followMarkets(
  stream: Stream,
  listener: MarketListener,
): { markets: MarketList; stop: () => void } {
  const markets = new MarketList(listener);
  const stop = stream.subscribe('markets', (message) => markets.apply(message));
  return { markets, stop };
}
