/**
 * The active and upcoming markets, from the stream.
 *
 * Invariant: every announced market ends once and is resolved once. If messages about it were lost,
 * its state is read from the API. A market that opened and ended in a gap ends without an opening.
 */
import { isRefusal } from '../errors.js';
import { type Market, market as readMarket } from '../routes.js';
import type { ChannelMessage, MarketChange } from './messages.js';
import type { Stream } from './stream.js';

export interface MarketListener {
  /** The market trades before its window, without a start price. Also after pause and resume. */
  onUpcoming?: (market: Market) => void;
  /** The market opened, or was open when the stream began. */
  onOpened?: (market: Market) => void;
  /** The market no longer trades. */
  onEnded?: (market: Market) => void;
  onResolved?: (market: Market) => void;
  /** Any other change, such as the final start price. */
  onChanged?: (market: Market) => void;
}

export class MarketList {
  readonly active = new Map<string, Market>();
  /** Markets of the next windows, by id. */
  readonly upcoming = new Map<string, Market>();
  /** Whether announced, unresolved markets in neither list have ended. */
  private readonly leaving = new Map<string, boolean>();
  /** Markets found resolved by reading; the stream's message may still arrive. */
  private readonly readAsResolved = new Set<string>();

  /** `read` starts a read whose result {@link found} gets. */
  constructor(
    private readonly listener: MarketListener,
    private readonly read: (marketId: string) => void,
  ) {}

  apply(message: ChannelMessage<'markets'>): void {
    if (message.type === 'delta') {
      for (const change of message.data.changes) this.change(change);
      return;
    }
    const { markets } = message.data;
    const ids = new Set(markets.map(({ id }) => id));
    for (const id of [...this.active.keys(), ...this.upcoming.keys()])
      if (!ids.has(id)) this.leave(id);
    this.readAsResolved.clear();
    for (const market of markets) this.enter(market);
    for (const id of this.leaving.keys()) this.read(id);
  }

  found(market: Market): void {
    const { id, status } = market;
    if (!this.leaving.has(id)) return;
    this.end(market);
    if (status !== 'resolved') return;
    this.readAsResolved.add(id);
    this.resolve(market);
  }

  /** `market` is the state after the command, which may have ended and resolved it. */
  private change({ change, market }: MarketChange): void {
    if (market === null) return;
    if (change === 'ended' || change === 'resolved') this.end(market);
    else if (market.status === 'active' || market.status === 'upcoming') this.enter(market);
    if (change === 'resolved' && !this.readAsResolved.delete(market.id)) this.resolve(market);
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

  private leave(id: string): void {
    const wasListed = this.active.delete(id) || this.upcoming.delete(id);
    if (wasListed) this.leaving.set(id, false);
  }

  private end(market: Market): void {
    const { id } = market;
    this.leave(id);
    if (this.leaving.get(id) !== false) return;
    this.leaving.set(id, true);
    this.listener.onEnded?.(market);
  }

  private resolve(market: Market): void {
    this.leaving.delete(market.id);
    this.listener.onResolved?.(market);
  }
}

const READ_AGAIN_MS = 5_000;

/** Follows the markets. Returns the list and a function that ends the subscription. */
export function followMarkets(
  stream: Stream,
  listener: MarketListener,
): { markets: MarketList; stop: () => void } {
  const read = async (marketId: string) => {
    try {
      markets.found(await readMarket(stream.api, marketId));
    } catch (error) {
      if (stream.failure !== null || isRefusal(error, 'market_not_found')) return;
      setTimeout(() => void read(marketId), READ_AGAIN_MS);
    }
  };
  const markets = new MarketList(listener, (marketId) => void read(marketId));
  const stop = stream.subscribe('markets', (message) => markets.apply(message));
  return { markets, stop };
}
