/**
 * The shapes of requests and answers, derived from the schemas that the exchange validates and
 * documents with. Types only: nothing of this is in the compiled client.
 *
 * Numbers of answers are the doubles of exact decimals; amounts.ts makes integers of them.
 */
import type { z } from 'zod';
import type { ErrorBody } from '../http/errors.js';
import type * as accountHistory from '../resources/account-history/schemas.js';
import type * as accounts from '../resources/accounts/schemas.js';
import type * as batches from '../resources/batch/schemas.js';
import type * as cancelAfters from '../resources/cancel-after/schemas.js';
import type * as dayFileSchemas from '../resources/day-files/schemas.js';
import type * as history from '../resources/history/schemas.js';
import type * as marketEvents from '../resources/market-events/schemas.js';
import type * as marketSchemas from '../resources/markets/schemas.js';
import type * as orderGroups from '../resources/order-groups/schemas.js';
import type * as orders from '../resources/orders/schemas.js';
import type * as partners from '../resources/partners/schemas.js';
import type * as signIn from '../resources/sign-in/schemas.js';
import type * as statuses from '../resources/status/schemas.js';
import type * as vault from '../resources/vault/schemas.js';
import type { Amount } from './amounts.js';
import type { Answer, Plain } from './answer.js';

export type OutcomeName = 'UP' | 'DOWN';
export type SideName = 'BUY' | 'SELL';
export type MarketStatus = 'active' | 'ended' | 'resolved';
export type TimeInForce = 'IOC' | 'FOK' | 'GTC';
export type SelfTradeName = 'cancel_resting' | 'cancel_taker' | 'cancel_both';

export type ApiError = Answer<typeof ErrorBody>['error'];
export type ErrorCode = ApiError['code'];

export type Market = Answer<typeof marketSchemas.Market>;
export type MarketWithHistory = Answer<typeof marketSchemas.MarketWithHistory>;
export type MarketDetail = Answer<typeof marketSchemas.MarketDetail>;
export type Markets = Answer<typeof marketSchemas.Markets>;
export type ActiveMarkets = Answer<typeof marketSchemas.ActiveMarkets>;
export type DayFiles = Answer<typeof dayFileSchemas.DayFiles>;
export type Orderbook = Answer<typeof marketSchemas.Orderbook>;
export type BuyQuote = Answer<typeof marketSchemas.BuyQuote>;
export type SellQuote = Answer<typeof marketSchemas.SellQuote>;

export type PastMarkets = Answer<typeof history.PastMarkets>;
export type MarketTrades = Answer<typeof history.MarketTrades>;
export type MarketEvents = Answer<typeof marketEvents.MarketEvents>;
export type MarketEvent = MarketEvents['events'][number];
export type MarketTicks = Answer<typeof marketEvents.MarketTicks>;
export type UserTrade = Answer<typeof history.UserTrade>;
export type UserTrades = Answer<typeof history.UserTrades>;
export type Points = Answer<typeof history.Points>;
export type Leaderboard = Answer<typeof history.Leaderboard>;

export type BuyReceipt = Answer<typeof orders.BuyReceipt>;
export type SellReceipt = Answer<typeof orders.SellReceipt>;
export type CancelReceipt = Answer<typeof orders.CancelReceipt>;
export type CancelAfter = Answer<typeof cancelAfters.CancelAfter>;
export type CancelAllReceipt = Answer<typeof orders.CancelAllReceipt>;
export type CancelOrdersReceipt = Answer<typeof orders.CancelOrdersReceipt>;
export type AmendReceipt = Answer<typeof orders.AmendReceipt>;
export type ClaimReceipt = Answer<typeof orders.ClaimReceipt>;
export type SplitReceipt = Answer<typeof orders.SplitReceipt>;
export type MergeReceipt = Answer<typeof orders.MergeReceipt>;
export type OrderGroupTerms = Answer<typeof orderGroups.OrderGroupTerms>;
export type OrderGroups = Answer<typeof orderGroups.OrderGroups>;
export type RemovedOrderGroup = Answer<typeof orderGroups.RemovedOrderGroup>;
export type Order = Answer<typeof orders.Order>;
export type OrderRecord = Answer<typeof accountHistory.OrderRecord>;
export type Orders = Answer<typeof accountHistory.Orders>;
export type Ledger = Answer<typeof accountHistory.Ledger>;
export type BatchReceipt = Answer<typeof batches.BatchReceipt>;

export type Profile = Answer<typeof accounts.Profile>;
export type Balance = Answer<typeof accounts.Balance>;
export type Position = Answer<typeof accounts.Position>;
export type Positions = Answer<typeof accounts.Positions>;
export type Privacy = Answer<typeof accounts.Privacy>;
export type Referral = Answer<typeof accounts.Referral>;
export type OwnReferral = Answer<typeof accounts.OwnReferral>;

export type SignedIn = Answer<typeof signIn.SignedIn>;
export type NewToken = Answer<typeof signIn.NewToken>;
export type TokenTerms = Omit<z.input<typeof signIn.TokenBody>, 'userId'>;
export type CreatedToken = Answer<typeof signIn.CreatedToken>;
export type Tokens = Answer<typeof signIn.Tokens>;
export type SessionOwner = Answer<typeof signIn.SessionOwner>;

export type Vaults = Answer<typeof vault.Vaults>;
export type Deposit = Plain<vault.Deposit>;
export type Deposits = Answer<typeof vault.Deposits>;
export type StakeReceipt = Answer<typeof vault.StakeReceipt>;
export type UnstakeReceipt = Answer<typeof vault.UnstakeReceipt>;
export type ClaimYieldReceipt = Answer<typeof vault.ClaimYieldReceipt>;

export type TransferReceipt = Answer<typeof partners.TransferReceipt>;
export type PartnerUser = Answer<typeof partners.PartnerUser>;

export type Digest = Answer<typeof marketEvents.Digest>;
export type Status = Answer<typeof statuses.Status>;
export type Time = Answer<typeof statuses.Time>;
export type Limits = Answer<typeof statuses.Limits>;

/** What every order may say. */
export interface OrderTerms {
  outcome: OutcomeName;
  /** Default: IOC. */
  timeInForce?: TimeInForce | undefined;
  /** With GTC: the order is refused if it would trade at once. */
  postOnly?: boolean | undefined;
  /** The order is refused if it is executed later. */
  validUntilMs?: number | undefined;
  /** With GTC: what rests is cancelled then. */
  expiresAtMs?: number | undefined;
  /** What happens where it would trade with an order of yours. Default: cancel_resting. */
  selfTrade?: SelfTradeName | undefined;
  /** With GTC: the order group that it is in. */
  groupId?: string | undefined;
  /** Your own name for the order: 1 to 64 of A-Z a-z 0-9 _ - : . */
  clientOrderId?: string | undefined;
}
/** Dollars to spend, at `price` or better if given; or shares, at `price` or better. */
export type BuyOrder = OrderTerms &
  ({ amount: Amount; price?: Amount | undefined } | { shares: Amount; price: Amount });
export type SellOrder = OrderTerms & { shares: Amount; price?: Amount | undefined };

/** What to change of a resting order; `shares` includes what is filled. */
export interface Amendment {
  shares?: Amount | undefined;
  price?: Amount | undefined;
}

export type Operation =
  | ({ op: 'buy'; marketId: string } & BuyOrder)
  | ({ op: 'sell'; marketId: string } & SellOrder)
  | { op: 'cancel'; marketId: string; orderId: string }
  | { op: 'cancel'; marketId: string; clientOrderId: string }
  | ({ op: 'amend'; marketId: string; orderId: string } & Amendment)
  | { op: 'cancelAll'; marketId?: string | undefined }
  | { op: 'claim'; marketId: string }
  | { op: 'split' | 'merge'; marketId: string; shares: Amount };

/** Filters of what happened to an account; both ends of the time are included. */
export interface AccountFilter {
  marketId?: string | undefined;
  fromMs?: number | undefined;
  toMs?: number | undefined;
}

export interface LedgerFilter extends AccountFilter {
  cause?: Ledger['entries'][number]['cause'] | undefined;
}

export interface Paging {
  /** Entries in one page: 1 to 200, default 50. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | null | undefined;
}
