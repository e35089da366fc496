/**
 * What the engine shows of its state: plain objects in engine units, made when they are asked for. They are copies;
 * keeping or changing one has no effect on the engine.
 */
import type { MarketStatus, Outcome, Resolution, Side } from './domain.js';

export interface AccountView {
  userId: number;
  username: string;
  createdAtMs: number;
  availableMicros: number;
  heldMicros: number;
  /** Value of all trades, as taker and maker; a statistic that stops at 2^53 - 1. */
  volumeMicros: number;
  /** Net of fees; may be negative. */
  realizedProfitMicros: number;
  tradeCount: number;
  microPoints: number;
  /** Who registered the user; null: nobody. */
  partner: string | null;
}

export interface ReferralView {
  userId: number;
  code: string;
  referredUsers: number;
  earnedMicros: number;
  /** What the fees of markets that are not settled yet will bring, if they are not VOID. */
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
  startPriceMicros: number;
  /** null until resolved, and on VOID. */
  endPriceMicros: number | null;
  volumeMicros: number;
  /** Complete sets outstanding, in lots. */
  openInterestLots: number;
  /** Of UP, null where there is none. */
  bestBidTicks: number | null;
  bestAskTicks: number | null;
  lastTradeTicks: number | null;
}

export interface DepthLevel {
  /** Of UP. */
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
}

export interface OrderView {
  orderId: number;
  marketId: number;
  userId: number;
  side: Side;
  outcome: Outcome;
  /** Of the order's own outcome. */
  priceTicks: number;
  /** Still resting. */
  sizeLots: number;
  placedAtMs: number;
}

/** What an order would do now. */
export interface QuoteView {
  filledLots: number;
  /** Spent or received, without the fee. */
  valueMicros: number;
  feeMicros: number;
  unspentMicros: number;
  /** Of the order's own outcome; null when nothing would be filled. */
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

/** Where all money is. The first seven are its pots; together they are `netDepositsMicros`. */
export interface FundsView {
  availableMicros: number;
  heldMicros: number;
  /** Of all markets. */
  collateralMicros: number;
  feeEscrowMicros: number;
  stakedMicros: number;
  yieldDueMicros: number;
  treasuryMicros: number;
  /** Deposits less withdrawals. */
  netDepositsMicros: number;
}

/** What one market holds for its users. */
export interface MarketFundsView {
  /** A dollar per complete set, and after the resolution what winners have not been paid. */
  collateralMicros: number;
  /** Fees that are not shared out, or not refunded. */
  feeEscrowMicros: number;
}
