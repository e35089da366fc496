/**
 * The naive engine's whole state: plain objects in plain arrays that refer to each other only by
 * id, so that copying them copies the exchange. Money is in dollars (see decimal.ts).
 */
import type { CodeName } from '../../../engine/interface/codes.js';
import type { Deposit, Withdraw } from '../../../engine/interface/commands.js';
import {
  MarketStatus,
  type Outcome,
  type Resolution,
  type SelfTrade,
  Side,
} from '../../../engine/interface/domain.js';
import type { EventRecord } from '../../../engine/interface/events.js';
import { Limit, type LimitName } from '../../../engine/interface/limits.js';
import type { Rules } from '../../../engine/interface/rule-sets.js';
import type { AccessTokenView, OperatorActionView } from '../../../engine/interface/views.js';
import { POOL_SIZES, type PoolSizes } from '../../../engine/state/access/room.js';
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
  /** All codes that the user has had, in upper case, the current one last. */
  referralCodes: string[];
  referrerId: number;
  referralEarned: Dollars;
  partner: string | null;
  /** The time at which the dead man's switch fires, or null if it is off. */
  cancelAtMs: number | null;
  frozen: boolean;
  privacy: number;
  autoClaim: boolean;
  rateTier: number;
  /** In days since 1970; 0: never. */
  startedAgainOn: number;
  /** The owner of a sub-account; 0 if this is not a sub-account. */
  parentId: number;
}

export interface NaiveGroup {
  groupId: number;
  userId: number;
  maxFilledLots: number;
  windowMs: number;
  /** The filled lots in the last window, and that window's end. */
  filledLots: number;
  windowEndsAtMs: number;
  tripped: boolean;
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
  clientOrderId: string | null;
  /** The order's group; 0 if none. */
  groupId: number;
  /** The budget of a buy; null if the order was placed for lots, or amended. */
  amountMicros: number | null;
  /** The total size and its filled part. */
  originalLots: number;
  filledLots: number;
  value: Dollars;
  fee: Dollars;
  postOnly: boolean;
  selfTrade: SelfTrade;
  /** The order's expiry; MAX_TIME_MS if only the market's end ends it. */
  expiresAtMs: number;
  /** A later resting order has a larger number. */
  restNumber: number;
}

/** Every accepted order of the exchange. */
export interface NaiveHistory {
  userId: number;
  marketId: number;
  /** An OrderEnd. */
  end: number;
}

export interface NaivePosition {
  /** A later market has a larger number, whatever its asset. */
  number: number;
  userId: number;
  /** The lots of UP and of DOWN. */
  lots: [number, number];
  cost: [Dollars, Dollars];
  fees: Dollars;
  /** The part of the fees that earns points. */
  pointFees: Dollars;
  /** The user's share of the fees of takers who traded with its resting orders. */
  makerShare: Dollars;
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
  /** The asset's price at the start, or null until the market opens. */
  startPrice: Dollars | null;
  endPrice: Dollars | null;
  /** Whether the start price was fixed, at start + 2 s. */
  startPriceFixed: boolean;
  /** Whether resolution was tried, at end + 2 s. */
  resolutionTried: boolean;
  resolvedAtMs: number;
  /** The time of the command that resolved the market, which may be later than the due time. */
  decidedAtMs: number;
  /** A market that was resolved later has a larger number. */
  resolutionNumber: number;
  /** Whether the payout of unclaimed winnings is pending. */
  payingOut: boolean;
  /** Whether the market itself is paused, not its asset or everything. */
  paused: boolean;
  /** Resting orders, oldest first. */
  orders: NaiveOrder[];
  /** Positions, oldest first. */
  positions: NaivePosition[];
  /** Outstanding complete sets; once the market is resolved, the number at its end. */
  setLots: number;
  collateral: Dollars;
  feeEscrow: Dollars;
  vaultPart: Dollars;
  /** The part of the vault's fees that no deposit earned. */
  unearnedPart: Dollars;
  referrersPart: Dollars;
  makersPart: Dollars;
  volume: Dollars;
  lastTradeTicks: number | null;
}

/** Whether orders may rest in the market. */
export function takesOrders({ status }: NaiveMarket): boolean {
  return status === MarketStatus.ACTIVE || status === MarketStatus.UPCOMING;
}

export interface NaivePrice {
  observedAtMs: number;
  price: Dollars;
}

export interface NaiveAsset {
  symbol: string;
  /** Whether the asset's markets are listed ahead of their windows. */
  listsAhead: boolean;
  /** Prices by time of observation; for equal times, by arrival. */
  prices: NaivePrice[];
  /** The last price of each source. */
  sources: { source: string; price: Dollars; observedAtMs: number }[];
  /** Consecutive prices that are held back, with their times of arrival. */
  held: { price: Dollars; atMs: number }[];
  /** The first window start after the listing. */
  firstBoundaryMs: number;
  nextBoundaryMs: number;
  /** The start of the current window if it waits for a price, otherwise null. */
  waitingSinceMs: number | null;
}

export interface NaiveDeposit {
  depositId: number;
  userId: number;
  amount: Dollars;
  stakedAtMs: number;
  earnsFromMs: number;
  /** The vault's yield per dollar when this deposit started to earn, or null if it has not. */
  yieldPerDollarBefore: Dollars | null;
  claimedYield: Dollars;
  closed: boolean;
}

export interface NaiveVault {
  deposits: NaiveDeposit[];
  /** The total yield that one earning dollar has received. */
  yieldPerDollar: Dollars;
  yieldDue: Dollars;
  yieldPaid: Dollars;
}

export type NaiveToken = AccessTokenView;
/** The id that a client gave an order. */
export interface NaiveClientOrder {
  userId: number;
  clientOrderId: string;
  orderId: number;
}

export interface NaiveWork {
  kind:
    | 'cancelOrders'
    | 'settlePositions'
    | 'payOut'
    | 'expireTokens'
    | 'fireTimers'
    | 'expireOrders';
  /** For `expireOrders`: expire the orders that are due before this time. */
  beforeMs?: number;
  /** The market of the work; 0 if none. */
  marketId: number;
}

export class NaiveState {
  sequence = 0;
  /** The number of makers that the current command may still trade with. */
  fillsLeft = 0;
  /** The time of the command, or of the deadline being processed. */
  nowMs = 0;
  /** The time of the command, even while earlier deadlines are processed. */
  commandAtMs = 0;
  users: NaiveUser[] = [];
  assets: NaiveAsset[] = [];
  markets: NaiveMarket[] = [];
  vault: NaiveVault = { deposits: [], yieldPerDollar: ZERO, yieldDue: ZERO, yieldPaid: ZERO };
  transfers: NaiveTransfer[] = [];
  /** Tokens, oldest first. */
  tokens: NaiveToken[] = [];
  tokensMade = 0;
  /** Groups, oldest first. */
  groups: NaiveGroup[] = [];
  groupsMade = 0;
  pausedAssets: number[] = [];
  everythingPaused = false;
  actions: OperatorActionView[] = [];
  /** The rules in force. */
  rules: Rules = {
    ruleSet: 1,
    takerFeeBasisPoints: 50,
    curveFeeBasisPoints: 0,
    makerSharePercent: 0,
    vaultSharePercent: 40,
    maxOrderMicros: 1_000_000_000_000,
    maxOpenOrders: 1_000,
    minRestingMicros: 1_000_000,
  };
  /** Partners that have registered users, in order of the first registration. */
  partners: string[] = [];
  treasury = ZERO;
  /** All deposits minus all withdrawals. */
  total = ZERO;
  /** The play money among the deposits. */
  granted = ZERO;
  ordersAccepted = 0;
  ordersRested = 0;
  /** The history of each order, indexed by order id minus 1. */
  history: NaiveHistory[] = [];
  /** Remembered client order ids, oldest first. */
  clientOrders: NaiveClientOrder[] = [];
  poolSizes: PoolSizes = POOL_SIZES;
  /** In an atomic batch: the id of the last order before the batch. */
  lastKeptOrderId = Number.POSITIVE_INFINITY;
  /** Whether any user has had a credential. */
  hadCredential = false;
  tradesMade = 0;
  positionsMade = 0;
  marketsResolved = 0;
  /** Pending work of ended markets, first in, first out. */
  work: NaiveWork[] = [];
  events: EventRecord[] = [];
}

export interface NaiveTransfer {
  command: Deposit | Withdraw;
  result: number[];
  atMs: number;
}

/**
 * The result of a command: `fields` by their names in results.ts, followed by `fills` for an order.
 */
export interface Answer {
  code: CodeName;
  fields: Record<string, number>;
  fills?: number[];
  /** The client order id at the end of an amendment's result. */
  name?: string | null;
}

export function ok(fields: Record<string, number>, fills: number[] = []): Answer {
  return { code: 'ok', fields, fills };
}

export function reject(code: CodeName, required = 0, available = 0): Answer {
  return { code, fields: { required, available } };
}

export function rejectLimit(limit: LimitName): Answer {
  return reject('limit_reached', Limit[limit]);
}

export function emit(state: NaiveState, event: EventRecord): void {
  state.events.push(event);
}

export function userOf(state: NaiveState, userId: number): NaiveUser | undefined {
  return state.users[userId - 1];
}

/** The user and its sub-accounts, oldest first. */
export function withSubAccounts(state: NaiveState, user: NaiveUser): NaiveUser[] {
  return [user, ...state.users.filter(({ parentId }) => parentId === user.userId)];
}

/** Whether two accounts are the same, or in one family. */
export function areFamily(state: NaiveState, a: number, b: number): boolean {
  const head = (userId: number) => userOf(state, userId)?.parentId || userId;
  return head(a) === head(b);
}

export function marketOf(state: NaiveState, marketId: number): NaiveMarket | undefined {
  return state.markets.find((market) => market.marketId === marketId);
}

export function positionOf(market: NaiveMarket, userId: number): NaivePosition | undefined {
  return market.positions.find((position) => position.userId === userId);
}

/** All of the user's lots of the outcome, including those held by resting sells. */
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
