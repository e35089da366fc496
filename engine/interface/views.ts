/**
 * Views of the engine's state: plain objects in engine units, made on request. They are copies, so
 * changing one has no effect on the engine.
 */
import type {
  MarketStatus,
  Outcome,
  Privacy,
  Resolution,
  SelfTrade,
  Side,
  TokenScope,
} from './domain.js';
import type { Rules } from './rule-sets.js';

export interface AccountView {
  userId: number;
  username: string;
  createdAtMs: number;
  availableMicros: number;
  heldMicros: number;
  /** Value of all trades, as taker and maker; saturates at 2^53 - 1. */
  volumeMicros: number;
  /** Net of fees; may be negative. */
  realizedProfitMicros: number;
  tradeCount: number;
  microPoints: number;
  /** The partner that registered the user, or its parent; null: none. */
  partner: string | null;
  /** The user whose sub-account it is; 0: it is not one. */
  parentId: number;
  /** An operator has frozen the user. */
  frozen: boolean;
  privacy: Privacy;
}

export interface AccessTokenView {
  tokenId: number;
  userId: number;
  name: string;
  scope: TokenScope;
  createdAtMs: number;
  /** MAX_TIME_MS: never. */
  expiresAtMs: number;
  /** As the command that created the token had it. */
  allowedAddresses: string;
  isExpired: boolean;
}

/** What an operator did. The subject is a user (0: none), a market (0) or an asset (-1). */
export interface OperatorActionView {
  actionId: number;
  sequence: number;
  atMs: number;
  /** The number of the command's kind. */
  kind: number;
  /** Paused or frozen, rather than the end of it. */
  isSet: boolean;
  operator: string;
  reason: string;
  userId: number;
  marketId: number;
  asset: number;
  /** What `setRules` has put in force; null: another action. */
  rules: Rules | null;
}

export interface ReferralView {
  userId: number;
  code: string;
  referredUsers: number;
  earnedMicros: number;
  /** The referrer's part of the fees of markets that are not settled, paid unless they are VOID. */
  pendingMicros: number;
  /** 0: nobody. */
  referrerId: number;
}

export interface MarketView {
  marketId: number;
  asset: number;
  status: MarketStatus;
  resolution: Resolution;
  startsAtMs: number;
  endsAtMs: number;
  /** null: the market has not opened. */
  startPriceMicros: number | null;
  /** Whether late prices no longer change the start price. */
  startPriceFinal: boolean;
  /** null until the market is resolved, and on VOID. */
  endPriceMicros: number | null;
  /** The time of the command that resolved the market; null until then. */
  resolvedAtMs: number | null;
  /**
   * In the last minute of an active market, the average that would be its end price if the minute
   * were over; null outside, and while no price counts.
   */
  averageSoFarMicros: number | null;
  /** The market takes orders, but an operator has paused it, its asset or everything. */
  paused: boolean;
  /** The fee on what a buy spends as taker, in basis points; null: the market has ended. */
  feeBasisPoints: number | null;
  volumeMicros: number;
  /** Complete sets outstanding, in lots. */
  openInterestLots: number;
  /** Prices are of UP; null if there is none. */
  bestBidTicks: number | null;
  bestAskTicks: number | null;
  lastTradeTicks: number | null;
}

export interface DepthLevel {
  /** The price of UP. */
  priceTicks: number;
  sizeLots: number;
}

/** Price levels in UP ticks, best first. */
export interface DepthView {
  bids: DepthLevel[];
  asks: DepthLevel[];
}

export interface PositionView {
  marketId: number;
  upLots: number;
  downLots: number;
  upHeldLots: number;
  downHeldLots: number;
  upCostMicros: number;
  downCostMicros: number;
  /** The fees that a VOID market gives back. */
  feesMicros: number;
}

export interface OrderView {
  orderId: number;
  /** null: the client gave it none. */
  clientOrderId: string | null;
  marketId: number;
  userId: number;
  side: Side;
  outcome: Outcome;
  /** The price of the order's own outcome. */
  priceTicks: number;
  /** What still rests. */
  sizeLots: number;
  /** What a buy was placed to spend; null: it was placed for lots, or was amended since. */
  amountMicros: number | null;
  /** All that the order shall have: what it has filled, and what rests. */
  originalLots: number;
  filledLots: number;
  /** Spent or received for what has filled, without the fee. */
  valueMicros: number;
  /** The fee on what filled as a taker. */
  feeMicros: number;
  postOnly: boolean;
  selfTrade: SelfTrade;
  /** 0: none. */
  groupId: number;
  /** null: when the market ends. */
  expiresAtMs: number | null;
  /** When it last came to rest. */
  placedAtMs: number;
}

export interface OrderGroupView {
  groupId: number;
  userId: number;
  maxFilledLots: number;
  windowMs: number;
  /** What its orders have filled in the window; if it has tripped, until it did. */
  filledLots: number;
  /** null: no window has begun, or the last one is over. */
  windowEndsAtMs: number | null;
  tripped: boolean;
  /** How many of its orders rest. */
  orderCount: number;
}

/** The effect that an order would have now. */
export interface QuoteView {
  filledLots: number;
  /** Spent or received, without the fee. */
  valueMicros: number;
  feeMicros: number;
  unspentMicros: number;
  /** The price of the order's own outcome; null if nothing would be filled. */
  worstTicks: number | null;
  fillCount: number;
}

export interface VaultView {
  stakedMicros: number;
  depositCount: number;
  yieldPaidMicros: number;
  /** Accrued to deposits and not yet paid. */
  yieldDueMicros: number;
}

export interface VaultDepositView {
  depositId: number;
  userId: number;
  amountMicros: number;
  accruedYieldMicros: number;
  claimedYieldMicros: number;
  closed: boolean;
  stakedAtMs: number;
  earnsFromMs: number;
}

/** All money: seven pots that add up to `netDepositsMicros`. */
export interface FundsView {
  availableMicros: number;
  heldMicros: number;
  /** The collateral of all markets. */
  collateralMicros: number;
  feeEscrowMicros: number;
  stakedMicros: number;
  yieldDueMicros: number;
  treasuryMicros: number;
  /** Deposits less withdrawals. */
  netDepositsMicros: number;
}

/** Money that one market holds for its users. */
export interface MarketFundsView {
  /** A dollar per complete set; after resolution, what winners have not been paid. */
  collateralMicros: number;
  /** Fees that are not shared or refunded yet. */
  feeEscrowMicros: number;
}

/** A price that is far from the last one and does not count yet. */
export interface HeldPriceView {
  priceMicros: number;
  /** When the first such price came. */
  sinceMs: number;
}
