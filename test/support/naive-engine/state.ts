/**
 * The naive engine's whole state: plain objects in plain arrays, which name each other by id and
 * never by reference, so that a copy of them is a copy of the exchange. Money is in dollars (see
 * decimal.ts).
 */
import type { CodeName } from '../../../engine/interface/codes.js';
import type { Deposit, Withdraw } from '../../../engine/interface/commands.js';
import {
  type MarketStatus,
  type Outcome,
  type Resolution,
  Side,
} from '../../../engine/interface/domain.js';
import type { EventRecord } from '../../../engine/interface/events.js';
import { type Dollars, ZERO } from './decimal.js';

export interface NaiveUser {
  userId: number;
  username: string;
  credential: string;
  credentialVersion: number;
  createdAtMs: number;
  available: Dollars;
  held: Dollars;
  volume: Dollars;
  realizedProfit: Dollars;
  tradeCount: number;
  microPoints: number;
  /** All that were ever theirs, upper case, the current one last. */
  referralCodes: string[];
  referrerId: number;
  referralEarned: Dollars;
  /** Who registered the user. */
  partner: string | null;
}

export interface NaiveOrder {
  orderId: number;
  marketId: number;
  userId: number;
  side: Side;
  outcome: Outcome;
  priceTicks: number;
  sizeLots: number;
  placedAtMs: number;
}

export interface NaivePosition {
  /** Counts all positions of the exchange, as they were made. */
  number: number;
  userId: number;
  /** Of UP and of DOWN. */
  lots: [number, number];
  cost: [Dollars, Dollars];
  fees: Dollars;
  /** The part of the fees that earns points. */
  pointFees: Dollars;
  settled: boolean;
  payout: Dollars;
  refund: Dollars;
}

export interface NaiveMarket {
  marketId: number;
  asset: number;
  startsAtMs: number;
  endsAtMs: number;
  status: MarketStatus;
  resolution: Resolution;
  startPrice: Dollars;
  endPrice: Dollars | null;
  /** The start + 2 s has come, after which the start price stands. */
  startPriceFixed: boolean;
  /** The end + 2 s has come. */
  resolutionTried: boolean;
  resolvedAtMs: number;
  /** Counts all markets of the exchange, as they were resolved. */
  resolutionNumber: number;
  /** The work of paying what nobody claimed is under way. */
  payingOut: boolean;
  /** Resting, the oldest first. */
  orders: NaiveOrder[];
  /** In the order in which they were made. */
  positions: NaivePosition[];
  /** Complete sets outstanding; when the market is resolved, those at its end. */
  setLots: number;
  collateral: Dollars;
  feeEscrow: Dollars;
  vaultPart: Dollars;
  /** The vault's part that found nobody earning. */
  unearnedPart: Dollars;
  referrersPart: Dollars;
  volume: Dollars;
  lastTradeTicks: number | null;
}

export interface NaivePrice {
  observedAtMs: number;
  price: Dollars;
}

export interface NaiveAsset {
  symbol: string;
  /** By time of observation, later arrivals last. */
  prices: NaivePrice[];
  /** The first window start after it was listed. */
  firstBoundaryMs: number;
  nextBoundaryMs: number;
  /** Start of the current window while it waits for a price. */
  waitingSinceMs: number | null;
}

export interface NaiveDeposit {
  depositId: number;
  userId: number;
  amount: Dollars;
  stakedAtMs: number;
  earnsFromMs: number;
  /** The vault's yield per dollar when this deposit began to earn; null before. */
  yieldPerDollarBefore: Dollars | null;
  claimedYield: Dollars;
  closed: boolean;
}

export interface NaiveVault {
  deposits: NaiveDeposit[];
  /** All that one earning dollar has got so far. */
  yieldPerDollar: Dollars;
  yieldDue: Dollars;
  yieldPaid: Dollars;
}

export interface NaiveWork {
  kind: 'cancelOrders' | 'settlePositions' | 'payOut';
  marketId: number;
}

export interface NaiveState {
  sequence: number;
  /** Makers that the command under way may still trade with. */
  fillsLeft: number;
  /** The time of the command; of the deadline, while one is met. */
  nowMs: number;
  users: NaiveUser[];
  assets: NaiveAsset[];
  markets: NaiveMarket[];
  vault: NaiveVault;
  transfers: NaiveTransfer[];
  /** Those who registered users, as they came. */
  partners: string[];
  treasury: Dollars;
  /** Deposits less withdrawals. */
  total: Dollars;
  ordersAccepted: number;
  tradesMade: number;
  positionsMade: number;
  marketsResolved: number;
  /** What ended markets left to do, in the order in which it came up. */
  work: NaiveWork[];
  /** Of the command. */
  events: EventRecord[];
}

/** A transfer that was carried out, and the answer it got. */
export interface NaiveTransfer {
  command: Deposit | Withdraw;
  result: number[];
}

/**
 * The answer to a command: `fields` by their names in results.ts, and `fills` behind those of an
 * order.
 */
export interface Answer {
  code: CodeName;
  fields: Record<string, number>;
  fills?: number[];
}

export function newState(): NaiveState {
  return {
    sequence: 0,
    fillsLeft: 0,
    nowMs: 0,
    users: [],
    assets: [],
    markets: [],
    vault: { deposits: [], yieldPerDollar: ZERO, yieldDue: ZERO, yieldPaid: ZERO },
    transfers: [],
    partners: [],
    treasury: ZERO,
    total: ZERO,
    ordersAccepted: 0,
    tradesMade: 0,
    positionsMade: 0,
    marketsResolved: 0,
    work: [],
    events: [],
  };
}

export function ok(fields: Record<string, number>, fills: number[] = []): Answer {
  return { code: 'ok', fields, fills };
}

export function reject(code: CodeName, required = 0, available = 0): Answer {
  return { code, fields: { required, available } };
}

export function emit(state: NaiveState, event: EventRecord): void {
  state.events.push(event);
}

export function userOf(state: NaiveState, userId: number): NaiveUser | undefined {
  return state.users[userId - 1];
}

export function marketOf(state: NaiveState, marketId: number): NaiveMarket | undefined {
  return state.markets.find((market) => market.marketId === marketId);
}

export function positionOf(market: NaiveMarket, userId: number): NaivePosition | undefined {
  return market.positions.find((position) => position.userId === userId);
}

/** All that the user owns of the outcome, those that resting sells hold included. */
export function lotsOf(market: NaiveMarket, userId: number, outcome: Outcome): number {
  return positionOf(market, userId)?.lots[outcome] ?? 0;
}

export function heldLotsOf(market: NaiveMarket, userId: number, outcome: Outcome): number {
  return market.orders
    .filter(
      (order) => order.userId === userId && order.side === Side.SELL && order.outcome === outcome,
    )
    .reduce((lots, order) => lots + order.sizeLots, 0);
}
