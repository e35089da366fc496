/**
 * Views of the engine's state: plain objects in engine units, made on request. A view is a copy;
 * changing it does not affect the engine.
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
  /** The partner that registered the user or its parent; null if none. */
  partner: string | null;
  /** The owner of a sub-account; 0 for any other account. */
  parentId: number;
  frozen: boolean;
  privacy: Privacy;
  /** Whether the settlement of a market pays the user. */
  autoClaim: boolean;
  /** The factor of the user's rate limits; a sub-account has its parent's. */
  rateTier: number;
}

export interface AccessTokenView {
  tokenId: number;
  userId: number;
  name: string;
  scope: TokenScope;
  createdAtMs: number;
  /** MAX_TIME_MS: never. */
  expiresAtMs: number;
  /** The allowed addresses, exactly as the command that created the token wrote them. */
  allowedAddresses: string;
  isExpired: boolean;
}

/** An operator's action on a user (0: none), a market (0: none) or an asset (-1: none). */
export interface OperatorActionView {
  actionId: number;
  sequence: number;
  atMs: number;
  kind: number;
  /** Whether a pause or freeze began (true) or ended. */
  isSet: boolean;
  operator: string;
  reason: string;
  userId: number;
  marketId: number;
  asset: number;
  /** The tier of a `setRateTier`; 0 means another action. */
  rateTier: number;
  /** The rules of a `setRules`; null means another action. */
  rules: Rules | null;
}

export interface ReferralView {
  userId: number;
  code: string;
  referredUsers: number;
  earnedMicros: number;
  /** The referrer's part of fees in unsettled markets, paid unless a market is VOID. */
  pendingMicros: number;
  /** 0: none. */
  referrerId: number;
}

export interface MarketView {
  marketId: number;
  asset: number;
  status: MarketStatus;
  resolution: Resolution;
  startsAtMs: number;
  endsAtMs: number;
  /** The asset's price at the start; null if the market has not opened. */
  startPriceMicros: number | null;
  /** Whether late prices can no longer change the start price. */
  startPriceFinal: boolean;
  /** null until the market is resolved, and on VOID. */
  endPriceMicros: number | null;
  /** The time of the command that resolved the market; null until then. */
  resolvedAtMs: number | null;
  /**
   * The end price if the market's last minute were over now; `null` before that minute, and while
   * no price counts.
   */
  averageSoFarMicros: number | null;
  /** The market takes orders, but an operator has paused it, its asset or everything. */
  paused: boolean;
  /** The fee on a buy's spending as taker, in basis points; null if the market has ended. */
  feeBasisPoints: number | null;
  /** The rate of the fee curve, in basis points; null: the market has ended. */
  curveFeeBasisPoints: number | null;
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
  /** Taker fees paid; a VOID market refunds them. */
  feesMicros: number;
}

export interface OrderView {
  orderId: number;
  clientOrderId: string | null;
  marketId: number;
  userId: number;
  side: Side;
  outcome: Outcome;
  /** The price of the order's own outcome. */
  priceTicks: number;
  /** The lots that still rest. */
  sizeLots: number;
  /** The budget of a buy for an amount; null for a buy of lots, or after an amendment. */
  amountMicros: number | null;
  /** Total size: filled plus resting. */
  originalLots: number;
  filledLots: number;
  /** Spent or received for the fills, without the fee. */
  valueMicros: number;
  /** The fee on the fills as taker. */
  feeMicros: number;
  postOnly: boolean;
  selfTrade: SelfTrade;
  /** 0: none. */
  groupId: number;
  /** The order's expiry; null if it rests until the market ends. */
  expiresAtMs: number | null;
  /** When the order was placed; an amendment does not change it. */
  placedAtMs: number;
}

export interface OrderGroupView {
  groupId: number;
  userId: number;
  maxFilledLots: number;
  windowMs: number;
  /** Lots filled in the window; of a tripped group, up to the trip. */
  filledLots: number;
  /** The end of the group's open window; null if no window is open. */
  windowEndsAtMs: number | null;
  tripped: boolean;
  orderCount: number;
}

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
  collateralMicros: number;
  feeEscrowMicros: number;
  stakedMicros: number;
  yieldDueMicros: number;
  treasuryMicros: number;
  netDepositsMicros: number;
}

/** Money that one market holds for its users. */
export interface MarketFundsView {
  /** A dollar per complete set; after resolution, the unpaid winnings. */
  collateralMicros: number;
  feeEscrowMicros: number;
}

export interface HeldPriceView {
  priceMicros: number;
  /** When the first of the consecutive held prices arrived. */
  sinceMs: number;
}
