/**
 * The changes that events make in accounts. Every micro-dollar and share that an account gains or
 * loses, or that becomes held or available, is in exactly one change of one event. A resting sell
 * holds shares, which remain the user's: it changes nothing.
 *
 * Statements consist of these changes (ledger.ts). `explain` compares their sum with the engine's
 * balance after each command, and `audit` the sum over all accounts after each batch.
 */
import {
  DepositSource,
  Outcome,
  Resolution,
  Side,
  ticksIn,
} from '../../../engine/interface/domain.js';
import type { EventName, EventRecord } from '../../../engine/interface/events.js';
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { type EntryOf, TAKER, type USER_TRADE } from '../runs/format.js';

export const CAUSES = [
  'grant',
  'deposit',
  'withdrawal',
  'transfer_in',
  'transfer_out',
  'fill',
  'fee',
  'hold',
  'release',
  'split',
  'merge',
  'claim',
  'refund',
  'stake',
  'unstake',
  'yield',
  'referral',
  'maker_share',
] as const;
export type Cause = (typeof CAUSES)[number];

/** A change of an account. An id is 0 if there is none. */
export interface AccountChange {
  userId: number;
  cause: Cause;
  marketId: number;
  orderId: number;
  tradeId: number;
  depositId: number;
  /** The account that money came from or went to. */
  otherId: number;
  availableMicros: number;
  heldMicros: number;
  shares: { outcome: Outcome; lots: number } | null;
}

/** The most changes that one event makes in one account. */
export const CHANGES_MAX = 4;

/** One side of a trade. Only the taker pays a fee. */
type TradeSide = Omit<
  EntryOf<typeof USER_TRADE>,
  'number' | 'ordinal' | 'profitMicros' | 'atMs' | 'sequence'
>;

/**
 * The changes of an event, by its kind; the others have none. An event of money that is missing
 * here would leave balances that do not add up: `audit` finds it.
 */
const CHANGES: { readonly [Name in EventName]?: (event: EventRecord<Name>) => AccountChange[] } = {
  deposited: (event) => {
    const cause = event.source === DepositSource.GRANT ? 'grant' : 'deposit';
    return [payment(event, cause, event.amountMicros)];
  },
  withdrawn: (event) => [payment(event, 'withdrawal', 0 - event.amountMicros)],
  transferredIn: (event) => [
    payment({ ...event, otherId: event.fromUserId }, 'transfer_in', event.amountMicros),
  ],
  transferredOut: (event) => [
    payment({ ...event, otherId: event.toUserId }, 'transfer_out', 0 - event.amountMicros),
  ],
  orderPlaced: (event) => changeOfHold(event, event.restingLots * event.priceTicks),
  orderCancelled: (event) => changeOfHold(event, 0 - event.sizeLots * event.priceTicks),
  orderAmended: (event) => {
    const leftLots = event.keptPriority === 1 ? event.sizeLots : 0;
    return changeOfHold(event, (leftLots - event.oldSizeLots) * event.oldPriceTicks);
  },
  trade: (event) => [...changesOfSide(takerOf(event)), ...changesOfSide(makerOf(event))],
  setsSplit: (event) => {
    const fee = payment(event, 'fee', 0 - event.feeMicros);
    return [...changesOfSets(event, 'split', 1), ...(event.feeMicros > 0 ? [fee] : [])];
  },
  setsMerged: (event) => changesOfSets(event, 'merge', -1),
  positionSettled: lossesOf,
  claimed: (event) => {
    const refund = payment(event, 'refund', event.refundMicros);
    return [...claimsOf(event), ...(event.refundMicros > 0 ? [refund] : [])];
  },
  referralEarned: (event) => {
    const of = { userId: event.referrerId, otherId: event.userId };
    return [payment({ ...event, ...of }, 'referral', event.amountMicros)];
  },
  makerShareEarned: (event) => [payment(event, 'maker_share', event.amountMicros)],
  staked: (event) => [payment(event, 'stake', 0 - event.amountMicros)],
  unstaked: (event) => {
    const earned = payment(event, 'yield', event.yieldMicros);
    const principal = payment(event, 'unstake', event.amountMicros);
    return event.yieldMicros > 0 ? [principal, earned] : [principal];
  },
  yieldClaimed: (event) => [payment(event, 'yield', event.yieldMicros)],
};

export function changesOf<Name extends EventName>(event: EventRecord<Name>): AccountChange[] {
  return CHANGES[event.type]?.(event) ?? [];
}

/** The taker pays or receives available money. A maker who buys pays from the order's hold. */
export function changesOfSide(trade: TradeSide): AccountChange[] {
  const { userId, marketId, orderId, tradeId, sizeLots, feeMicros } = trade;
  const ids = { userId, marketId, orderId, tradeId, depositId: 0, otherId: 0 };
  const valueMicros = sizeLots * trade.priceTicks;
  const isBuy = trade.side === Side.BUY;
  const isHeld = isBuy && trade.role !== TAKER;
  const fill: AccountChange = {
    ...ids,
    cause: 'fill',
    availableMicros: isHeld ? 0 : isBuy ? 0 - valueMicros : valueMicros,
    heldMicros: isHeld ? 0 - valueMicros : 0,
    shares: { outcome: trade.outcome as Outcome, lots: isBuy ? sizeLots : 0 - sizeLots },
  };
  if (feeMicros === 0) return [fill];
  const availableMicros = 0 - feeMicros;
  return [fill, { ...ids, cause: 'fee', availableMicros, heldMicros: 0, shares: null }];
}

function takerOf(trade: EventRecord<'trade'>): TradeSide {
  return {
    ...trade,
    userId: trade.takerId,
    orderId: trade.takerOrderId,
    role: TAKER,
    side: trade.takerSide,
    outcome: trade.takerOutcome,
    priceTicks: ticksIn(trade.takerOutcome, trade.upTicks),
  };
}

function makerOf(trade: EventRecord<'trade'>): TradeSide {
  return {
    ...trade,
    userId: trade.makerId,
    orderId: trade.makerOrderId,
    role: 1 - TAKER,
    side: trade.makerSide,
    outcome: trade.makerOutcome,
    priceTicks: ticksIn(trade.makerOutcome, trade.upTicks),
    feeMicros: 0,
  };
}

interface Order {
  userId: number;
  orderId: number;
  marketId: number;
}

interface Payment {
  userId: number;
  marketId?: number;
  depositId?: number;
  otherId?: number;
}

function payment(
  { userId, marketId = 0, depositId = 0, otherId = 0 }: Payment,
  cause: Cause,
  availableMicros: number,
): AccountChange {
  const ids = { userId, marketId, depositId, otherId, orderId: 0, tradeId: 0 };
  return { ...ids, cause, availableMicros, heldMicros: 0, shares: null };
}

/** The change when money of a buy becomes held, or available again if `heldMicros` is below 0. */
function changeOfHold(order: Order & { side: number }, heldMicros: number): AccountChange[] {
  return order.side === Side.SELL || heldMicros === 0 ? [] : [heldChange(order, heldMicros)];
}

export function heldChange(order: Order, heldMicros: number): AccountChange {
  const change = payment(order, heldMicros > 0 ? 'hold' : 'release', 0 - heldMicros);
  return { ...change, orderId: order.orderId, heldMicros };
}

/**
 * `sign` 1: the user gets shares of both outcomes; -1: gives them back. Each share is booked at
 * half a dollar.
 */
function changesOfSets(
  event: EventRecord<'setsSplit' | 'setsMerged'>,
  cause: Cause,
  sign: 1 | -1,
): AccountChange[] {
  const lots = sign * event.sizeLots;
  const change = payment(event, cause, (0 - lots) * (MICROS_PER_SET / 2));
  return [Outcome.UP, Outcome.DOWN].map((outcome) => ({ ...change, shares: { outcome, lots } }));
}

/** The shares of the losing outcome end when the position is settled. */
function lossesOf(event: EventRecord<'positionSettled'>): AccountChange[] {
  const { resolution, upLots, downLots } = event;
  return [
    ...endedShares(event, Outcome.UP, resolution === Resolution.DOWN ? upLots : 0, 0),
    ...endedShares(event, Outcome.DOWN, resolution === Resolution.UP ? downLots : 0, 0),
  ];
}

/** The shares of the winning outcome (when VOID, of both) end when they are paid. */
function claimsOf(event: EventRecord<'claimed'>): AccountChange[] {
  const { upLots, downLots, payoutMicros } = event;
  const microsPerLot = upLots + downLots === 0 ? 0 : payoutMicros / (upLots + downLots);
  return [
    ...endedShares(event, Outcome.UP, upLots, microsPerLot),
    ...endedShares(event, Outcome.DOWN, downLots, microsPerLot),
  ];
}

function endedShares(
  of: Payment,
  outcome: Outcome,
  lots: number,
  microsPerLot: number,
): AccountChange[] {
  const change = payment(of, 'claim', lots * microsPerLot);
  return lots === 0 ? [] : [{ ...change, shares: { outcome, lots: 0 - lots } }];
}
