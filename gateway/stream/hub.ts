/**
 * The hub: builds messages for the channels that each command changed.
 *
 * Invariants:
 * - A message shows the state after its own command: it is built before the next is applied.
 * - Messages are sent in command order, and only after their command is durable.
 * - A channel exists from the first request for it until its market closes or it has had no
 *   subscriber for a while. Events without a channel are skipped.
 */
import type { Engine } from '../../engine/engine.js';
import { assetOfMarket, type Outcome, type Side, ticksIn } from '../../engine/interface/domain.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../../engine/interface/events.js';
import type { ReleaseTarget } from '../../persistence/sequencer.js';
import { BOOK } from './channels/book.js';
import { BOOKS } from './channels/books.js';
import type { Channel, KeptTotal } from './channels/channel.js';
import { MARKETS, type MarketChange } from './channels/markets.js';
import { closedText, type Stamp } from './channels/message-text.js';
import { PRICES_CHANNEL } from './channels/prices.js';
import { TOPS } from './channels/tops.js';
import { TRADES } from './channels/trades.js';
import { ACCOUNT, USER } from './channels/user.js';
import { oneUserOf } from './channels/user-events.js';
import { CLOSE, type CloseReason, type StreamLimits } from './limits.js';

/**
 * All kinds of channels. A channel of one market, asset or sub-account has the id in its name:
 * "book:<marketId>". `texts` describes snapshot and delta. `make` requires that the id exists.
 */
export const CHANNELS = {
  markets: MARKETS,
  book: BOOK,
  books: BOOKS,
  tops: TOPS,
  trades: TRADES,
  prices: PRICES_CHANNEL,
  user: USER,
  account: ACCOUNT,
} as const;
export type ChannelKind = keyof typeof CHANNELS;
export const CHANNEL_KINDS = Object.keys(CHANNELS) as ChannelKind[];

export interface ChannelId {
  kind: ChannelKind;
  /** Id of the market, asset, user or sub-account; 0 if the kind has one channel. */
  of: number;
}

type Channels = { [Kind in ChannelKind]: Map<number, ReturnType<(typeof CHANNELS)[Kind]['make']>> };

const {
  trade,
  orderPlaced,
  orderAmended,
  marketEnded,
  priceObserved,
  credentialSet,
  tokenRevoked,
  marketPaused,
  rateTierChanged,
} = EventSlot;

const MARKET_CHANGES = new Map<number, MarketChange>([
  [EventType.marketListed, 'upcoming'],
  [EventType.marketOpened, 'opened'],
  [EventType.startPriceFixed, 'start_price_fixed'],
  [EventType.marketEnded, 'ended'],
  [EventType.marketResolved, 'resolved'],
  [EventType.marketClosed, 'closed'],
]);

interface HubOptions {
  engine: Engine;
  releaseAt(sequence: number, target: ReleaseTarget): void;
  publish(topic: string, text: string): void;
  /** Called when the revocation of the user's tokens below `version` is durable. */
  onTokensEnded(userId: number, version: number): void;
  onTokenEnded(userId: number, tokenId: number, reason: CloseReason): void;
  onRateTier(userId: number, tier: number): void;
  limits: StreamLimits;
}

export class Hub {
  private readonly engine: Engine;
  private readonly channels = Object.fromEntries(
    CHANNEL_KINDS.map((kind) => [kind, new Map()]),
  ) as unknown as Channels;
  private readonly touched: Channel[] = [];
  private readonly kept: KeptTotal = { characters: 0 };

  constructor(private readonly options: HubOptions) {
    this.engine = options.engine;
  }

  get stamp(): Stamp {
    return { sequence: this.engine.sequence, atMs: this.engine.nowMs };
  }

  channel({ kind, of }: ChannelId): Channel {
    const channels: Map<number, Channel> = this.channels[kind];
    let channel = channels.get(of);
    if (channel === undefined) {
      channel = CHANNELS[kind].make(this.engine, of);
      channels.set(of, channel);
    }
    return channel;
  }

  /** Removes channels that have had no subscriber for a while. Never call while reading events. */
  forgetIdle(nowMs: number): void {
    const { keptMs } = this.options.limits;
    for (const channels of Object.values<Map<number, Channel>>(this.channels)) {
      for (const [id, channel] of channels) {
        if (!channel.isIdle(nowMs, keptMs)) continue;
        channel.drop(this.kept);
        channels.delete(id);
      }
    }
  }

  /** Call after each command, before the next. */
  observe(): void {
    const { values, length } = this.engine.events;
    for (let at = 0; at < length; at += EVENT_LENGTHS[values[at]!]!) this.read(values, at);
    const markets = this.channels.markets.get(0);
    if (markets?.addFixedPrices()) this.touch(markets);
    if (this.touched.length > 0) this.sendTouched();
  }

  get keptCharacters(): number {
    return this.kept.characters;
  }

  subscriberCounts(): Record<ChannelKind, number> {
    const entries = Object.entries<Map<number, Channel>>(this.channels);
    return Object.fromEntries(
      entries.map(([kind, channels]) => [kind, subscribersOf(channels.values())]),
    ) as Record<ChannelKind, number>;
  }

  private read(values: Float64Array, at: number): void {
    const type = values[at]!;
    const userId = oneUserOf(values, at);
    if (userId !== 0) this.addUserEvent(userId, values, at);
    switch (type) {
      case EventType.trade:
        this.readTrade(values, at);
        return;
      case EventType.orderPlaced:
        if (values[at + orderPlaced.restingLots]! > 0) this.readOrder(values, at);
        return;
      case EventType.orderCancelled:
        this.readOrder(values, at);
        return;
      case EventType.orderAmended:
        this.readAmendment(values, at);
        return;
      case EventType.marketListed:
      case EventType.marketOpened:
      case EventType.startPriceFixed:
      case EventType.marketEnded:
      case EventType.marketResolved:
      case EventType.marketClosed:
        // Every market event begins with the market.
        this.readMarketChange(MARKET_CHANGES.get(type)!, values[at + marketEnded.marketId]!);
        return;
      case EventType.marketPaused: {
        const change = values[at + marketPaused.paused] === 1 ? 'paused' : 'resumed';
        this.readMarketChange(change, values[at + marketPaused.marketId]!);
        return;
      }
      case EventType.priceObserved:
        this.touch(this.channels.prices.get(values[at + priceObserved.asset]!));
        return;
      case EventType.credentialSet:
        this.endTokens(values[at + credentialSet.userId]!, values[at + credentialSet.version]!);
        return;
      case EventType.tokenRevoked:
        this.endToken(values, at, CLOSE.tokenRevoked);
        return;
      case EventType.tokenExpired:
        this.endToken(values, at, CLOSE.tokenExpired);
        return;
      case EventType.rateTierChanged:
        this.changeRateTier(
          values[at + rateTierChanged.userId]!,
          values[at + rateTierChanged.rateTier]!,
        );
        return;
    }
  }

  private readTrade(values: Float64Array, at: number): void {
    this.addUserEvent(values[at + trade.takerId]!, values, at);
    this.addUserEvent(values[at + trade.makerId]!, values, at);
    const marketId = values[at + trade.marketId]!;
    const trades = this.channels.trades.get(marketId);
    trades?.addTrade(values, at);
    this.touch(trades);
    const outcome = values[at + trade.makerOutcome] as Outcome;
    const priceTicks = ticksIn(outcome, values[at + trade.upTicks]!);
    this.touchLevel(marketId, values[at + trade.makerSide] as Side, outcome, priceTicks);
  }

  /** orderPlaced and orderCancelled have the same first fields. */
  private readOrder(values: Float64Array, at: number): void {
    const marketId = values[at + orderPlaced.marketId]!;
    const side = values[at + orderPlaced.side] as Side;
    const outcome = values[at + orderPlaced.outcome] as Outcome;
    this.touchLevel(marketId, side, outcome, values[at + orderPlaced.priceTicks]!);
  }

  /** Marks only the old level. If the order is placed again, other events report its new level. */
  private readAmendment(values: Float64Array, at: number): void {
    const marketId = values[at + orderAmended.marketId]!;
    const side = values[at + orderAmended.side] as Side;
    const outcome = values[at + orderAmended.outcome] as Outcome;
    this.touchLevel(marketId, side, outcome, values[at + orderAmended.oldPriceTicks]!);
  }

  private touchLevel(marketId: number, side: Side, outcome: Outcome, priceTicks: number): void {
    const asset = assetOfMarket(marketId);
    this.touch(this.channels.tops.get(asset));
    const book = this.channels.book.get(marketId);
    const books = this.channels.books.get(asset);
    if (book?.isOpen) {
      book.levels.add(side, outcome, priceTicks);
      this.touch(book);
    }
    if (books?.shownId === marketId) {
      books.levels.add(side, outcome, priceTicks);
      this.touch(books);
    }
  }

  private readMarketChange(change: MarketChange, marketId: number): void {
    const markets = this.channels.markets.get(0);
    markets?.addChange(change, marketId);
    this.touch(markets);
    const asset = assetOfMarket(marketId);
    this.touch(this.channels.tops.get(asset));
    this.touch(this.channels.books.get(asset));
    if (change === 'ended') this.endBook(marketId);
    if (change === 'closed') this.close(marketId);
  }

  private endBook(marketId: number): void {
    const book = this.channels.book.get(marketId);
    book?.end();
    this.touch(book);
  }

  private addUserEvent(userId: number, values: Float64Array, at: number): void {
    const user = this.channels.user.get(userId);
    user?.addEvent(values, at);
    this.touch(user);
    const account = this.channels.account.get(userId);
    account?.addEvent(values, at);
    this.touch(account);
  }

  private touch(channel: Channel | undefined): void {
    if (channel === undefined || channel.isTouched) return;
    channel.isTouched = true;
    this.touched.push(channel);
  }

  /** Uses one release target, so that nothing is sent between a command's messages. */
  private sendTouched(): void {
    const { stamp } = this;
    const { limits, publish, releaseAt } = this.options;
    const messages: [topic: string, text: string][] = [];
    for (const channel of this.touched) {
      channel.isTouched = false;
      if (channel.takeWhetherChanged())
        messages.push([channel.topic, channel.complete(stamp, limits, this.kept)]);
    }
    this.touched.length = 0;
    if (messages.length === 0) return;
    const release = () => {
      for (const [topic, text] of messages) publish(topic, text);
    };
    releaseAt(stamp.sequence, { release });
  }

  /** Closes the channels of a market that the engine removes, even if it ended in this command. */
  private close(marketId: number): void {
    const { stamp } = this;
    for (const channels of [this.channels.book, this.channels.trades]) {
      const channel = channels.get(marketId);
      if (channel === undefined) continue;
      channels.delete(marketId);
      if (channel.isTouched) this.touched.splice(this.touched.indexOf(channel), 1);
      channel.lastSequence = stamp.sequence;
      channel.drop(this.kept);
      const text = closedText(channel, stamp);
      const release = () => {
        for (const subscriber of [...channel.subscribers]) subscriber.channelClosed(text);
      };
      this.options.releaseAt(stamp.sequence, { release });
    }
  }

  private endTokens(userId: number, version: number): void {
    const release = () => this.options.onTokensEnded(userId, version);
    this.options.releaseAt(this.engine.sequence, { release });
  }

  private changeRateTier(userId: number, tier: number): void {
    const release = () => this.options.onRateTier(userId, tier);
    this.options.releaseAt(this.engine.sequence, { release });
  }

  /** tokenRevoked and tokenExpired have the same fields. */
  private endToken(values: Float64Array, at: number, reason: CloseReason): void {
    const userId = values[at + tokenRevoked.userId]!;
    const tokenId = values[at + tokenRevoked.tokenId]!;
    const release = () => this.options.onTokenEnded(userId, tokenId, reason);
    this.options.releaseAt(this.engine.sequence, { release });
  }
}

function subscribersOf(channels: Iterable<Channel>): number {
  let sum = 0;
  for (const { subscribers } of channels) sum += subscribers.size;
  return sum;
}
