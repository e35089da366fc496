/** The messages of the stream's channels, as types. PROTOCOL.md explains them. */
import type {
  Balance,
  Market,
  Order,
  Orderbook,
  OutcomeName,
  Position,
  SideName,
} from '../types.js';

export type MatchType = 'transfer' | 'mint' | 'merge';

export interface MarketChange {
  change: 'opened' | 'start_price_fixed' | 'ended' | 'resolved' | 'closed' | (string & {});
  marketId: string;
  /** null: closed. */
  market: Market | null;
}

/** Outcome, side and price are the taker's. */
export interface TapeTrade {
  tradeId: string;
  outcome: OutcomeName;
  side: SideName;
  price: number;
  shares: number;
  value: number;
  matchType: MatchType;
  atMs: number;
}

export interface AssetPrice {
  asset: string;
  /** null before the first price. */
  price: number | null;
  observedAtMs: number | null;
}

interface OrderEvent {
  orderId: string;
  clientOrderId: string | null;
  marketId: string;
  side: SideName;
  outcome: OutcomeName;
  price: number;
  shares: number;
}

export interface Fill extends OrderEvent {
  type: 'fill';
  tradeId: string;
  role: 'taker' | 'maker';
  value: number;
  fee: number;
  matchType: MatchType;
}

/** Everything that changes an account. */
export type UserEvent =
  | ({ type: 'order_rested' } & OrderEvent)
  | ({ type: 'order_cancelled'; reason: string } & OrderEvent)
  | ({
      type: 'order_amended';
      oldPrice: number;
      oldShares: number;
      originalShares: number;
      keptPriority: boolean;
    } & OrderEvent)
  | Fill
  | {
      type: 'position_settled';
      marketId: string;
      UP: number;
      DOWN: number;
      cost: number;
      payout: number;
      refundedFees: number;
      profit: number;
    }
  | {
      type: 'claimed';
      marketId: string;
      shares: number;
      payout: number;
      refundedFees: number;
      automatic: boolean;
    }
  | { type: 'deposited'; amount: number; source: 'grant' | 'partner' }
  | { type: 'cancel_after_fired'; cancelAtMs: number }
  | { type: 'user_frozen'; frozen: boolean }
  | { type: 'withdrawn'; amount: number }
  | { type: 'staked'; depositId: string; amount: number; earnsFromMs: number }
  | { type: 'unstaked'; depositId: string; amount: number; yield: number }
  | { type: 'yield_claimed'; depositId: string; yield: number }
  | { type: 'referral_earned'; marketId: string; amount: number }
  | { type: 'points_credited'; marketId: string; points: number; reason: 'fees' | 'referral' };

interface AccountPart {
  userId: string;
  balance: Pick<Balance, 'currency' | 'available' | 'held' | 'total'>;
  /** In a delta only the markets that changed; no outcomes: no position is left. */
  positions: { marketId: string; outcomes: Position[] }[];
}

/** What snapshots and deltas of each kind of channel hold. */
export interface ChannelData {
  markets: { snapshot: { markets: Market[] }; delta: { changes: MarketChange[] } };
  book: { snapshot: Orderbook; delta: Orderbook };
  trades: {
    snapshot: { marketId: string; trades: TapeTrade[] };
    delta: { marketId: string; trades: TapeTrade[] };
  };
  prices: { snapshot: AssetPrice; delta: AssetPrice };
  user: {
    snapshot: AccountPart & { orders: Order[] };
    delta: AccountPart & { events: UserEvent[] };
  };
}

export type Kind = keyof ChannelData;
/** "markets", "book:<marketId>", "trades:<marketId>", "prices:<asset>", "user" */
export type ChannelName = 'markets' | 'user' | `${'book' | 'trades' | 'prices'}:${string}`;
export type KindOf<Channel extends ChannelName> =
  Channel extends `${infer Of extends Kind}:${string}`
    ? Of
    : Channel extends Kind
      ? Channel
      : never;

interface Stamp {
  channel: string;
  channelSequence: number;
  /** The journal sequence that the message is true at. */
  sequence: number;
  atMs: number;
}
/** What a subscriber gets: a snapshot replaces its state, a delta changes it. */
export type ChannelMessage<Of extends Kind> =
  | (Stamp & { type: 'snapshot'; data: ChannelData[Of]['snapshot'] })
  | (Stamp & { type: 'delta'; data: ChannelData[Of]['delta'] });

/** Where a subscriber is in its channel. */
export interface Place {
  /** Of the last message that was applied. */
  sequence: number;
  /** The same; null: unknown. */
  channelSequence: number | null;
}
