/**
 * The text of each event of an account. Together they contain all money and shares that the account
 * gains or loses: from a snapshot on, they add up to the balance and orders of every later message.
 */
import { CancelReason, DepositSource, ticksIn } from '../../../engine/interface/domain.js';
import { EventSlot, EventType } from '../../../engine/interface/events.js';
import {
  type Assets,
  lotsText,
  marketIdText,
  matchTypeName,
  microsText,
  outcomeName,
  pointsReasonName,
  sideName,
  ticksText,
} from '../../../engine/interface/notation.js';

const CANCEL_REASONS = {
  [CancelReason.REQUESTED]: 'requested',
  [CancelReason.SELF_TRADE]: 'self_trade',
  [CancelReason.MARKET_ENDED]: 'market_ended',
} as const;
const SOURCES = { [DepositSource.GRANT]: 'grant', [DepositSource.PARTNER]: 'partner' } as const;

type EventText = (assets: Assets, values: Float64Array, at: number) => string;

const { orderCancelled, positionSettled, claimed, pointsCredited, referralEarned } = EventSlot;
const { deposited, withdrawn, staked, unstaked, yieldClaimed, trade } = EventSlot;

/** The fields of orderRested, with which orderCancelled starts too. */
function orderFields(assets: Assets, values: Float64Array, at: number): string {
  const field = (name: keyof typeof EventSlot.orderRested) =>
    values[at + EventSlot.orderRested[name]]!;
  return (
    `"orderId":"o${field('orderId')}","marketId":"${marketIdText(assets, field('marketId'))}"` +
    `,"side":"${sideName(field('side'))}","outcome":"${outcomeName(field('outcome'))}"` +
    `,"price":${ticksText(field('priceTicks'))},"shares":${lotsText(field('sizeLots'))}`
  );
}

/**
 * Events of one user: the user's position in the event, and the text. Trades have two users; see
 * below.
 */
const ONE_USER = new Map<number, { userAt: number; text: EventText }>([
  [
    EventType.orderRested,
    {
      userAt: EventSlot.orderRested.userId,
      text: (assets, values, at) => `{"type":"order_rested",${orderFields(assets, values, at)}}`,
    },
  ],
  [
    EventType.orderCancelled,
    {
      userAt: orderCancelled.userId,
      text: (assets, values, at) =>
        `{"type":"order_cancelled",${orderFields(assets, values, at)}` +
        `,"reason":"${CANCEL_REASONS[values[at + orderCancelled.reason] as CancelReason]}"}`,
    },
  ],
  [EventType.positionSettled, { userAt: positionSettled.userId, text: settledText }],
  [EventType.claimed, { userAt: claimed.userId, text: claimedText }],
  [
    EventType.deposited,
    {
      userAt: deposited.userId,
      text: (_assets, values, at) =>
        `{"type":"deposited","amount":${microsText(values[at + deposited.amountMicros]!)}` +
        `,"source":"${SOURCES[values[at + deposited.source] as DepositSource]}"}`,
    },
  ],
  [
    EventType.withdrawn,
    {
      userAt: withdrawn.userId,
      text: (_assets, values, at) =>
        `{"type":"withdrawn","amount":${microsText(values[at + withdrawn.amountMicros]!)}}`,
    },
  ],
  [
    EventType.staked,
    {
      userAt: staked.userId,
      text: (_assets, values, at) =>
        `{"type":"staked","depositId":"d${values[at + staked.depositId]!}"` +
        `,"amount":${microsText(values[at + staked.amountMicros]!)},"earnsFromMs":${values[at + staked.earnsFromMs]!}}`,
    },
  ],
  [
    EventType.unstaked,
    {
      userAt: unstaked.userId,
      text: (_assets, values, at) =>
        `{"type":"unstaked","depositId":"d${values[at + unstaked.depositId]!}"` +
        `,"amount":${microsText(values[at + unstaked.amountMicros]!)}` +
        `,"yield":${microsText(values[at + unstaked.yieldMicros]!)}}`,
    },
  ],
  [
    EventType.yieldClaimed,
    {
      userAt: yieldClaimed.userId,
      text: (_assets, values, at) =>
        `{"type":"yield_claimed","depositId":"d${values[at + yieldClaimed.depositId]!}"` +
        `,"yield":${microsText(values[at + yieldClaimed.yieldMicros]!)}}`,
    },
  ],
  [
    EventType.referralEarned,
    {
      // Without the user who paid the fees: their trades are private.
      userAt: referralEarned.referrerId,
      text: (assets, values, at) =>
        `{"type":"referral_earned","marketId":"${marketIdText(assets, values[at + referralEarned.marketId]!)}"` +
        `,"amount":${microsText(values[at + referralEarned.amountMicros]!)}}`,
    },
  ],
  [
    EventType.pointsCredited,
    {
      userAt: pointsCredited.userId,
      text: (assets, values, at) =>
        `{"type":"points_credited","marketId":"${marketIdText(assets, values[at + pointsCredited.marketId]!)}"` +
        `,"points":${microsText(values[at + pointsCredited.microPoints]!)}` +
        `,"reason":"${pointsReasonName(values[at + pointsCredited.reason]!)}"}`,
    },
  ],
]);

/** By type of event: the offset of the user; 0: the event is not about one user's account. */
export const USER_AT: readonly number[] = Array.from(
  { length: Math.max(...Object.values(EventType)) + 1 },
  (_, type) => ONE_USER.get(type)?.userAt ?? 0,
);

/** The offset of the market in events that change a position; 0: they do not. */
export function positionMarketAt(type: number): number {
  if (type === EventType.trade) return trade.marketId;
  if (type === EventType.positionSettled) return positionSettled.marketId;
  return type === EventType.claimed ? claimed.marketId : 0;
}

/** The text of an event of the user. */
export function userEventText(
  assets: Assets,
  userId: number,
  values: Float64Array,
  at: number,
): string {
  const type = values[at]!;
  return type === EventType.trade
    ? fillText(assets, userId, values, at)
    : ONE_USER.get(type)!.text(assets, values, at);
}

/** A trade from the point of view of one of its two users. */
function fillText(assets: Assets, userId: number, values: Float64Array, at: number): string {
  const field = (name: keyof typeof trade) => values[at + trade[name]]!;
  const isTaker = field('takerId') === userId;
  const outcome = field(isTaker ? 'takerOutcome' : 'makerOutcome');
  const priceTicks = ticksIn(outcome, field('upTicks'));
  const lots = field('sizeLots');
  return (
    `{"type":"fill","tradeId":"t${field('tradeId')}","orderId":"o${field(isTaker ? 'takerOrderId' : 'makerOrderId')}"` +
    `,"marketId":"${marketIdText(assets, field('marketId'))}","role":"${isTaker ? 'taker' : 'maker'}"` +
    `,"side":"${sideName(field(isTaker ? 'takerSide' : 'makerSide'))}","outcome":"${outcomeName(outcome)}"` +
    `,"price":${ticksText(priceTicks)},"shares":${lotsText(lots)},"value":${microsText(lots * priceTicks)}` +
    `,"fee":${microsText(isTaker ? field('feeMicros') : 0)},"matchType":"${matchTypeName(field('matchType'))}"}`
  );
}

/** The payout and the refund become claimable; `claimed` follows when they are paid. */
function settledText(assets: Assets, values: Float64Array, at: number): string {
  const field = (name: keyof typeof positionSettled) => values[at + positionSettled[name]]!;
  return (
    `{"type":"position_settled","marketId":"${marketIdText(assets, field('marketId'))}"` +
    `,"UP":${lotsText(field('upLots'))},"DOWN":${lotsText(field('downLots'))}` +
    `,"cost":${microsText(field('upCostMicros') + field('downCostMicros'))}` +
    `,"payout":${microsText(field('payoutMicros'))},"refundedFees":${microsText(field('refundMicros'))}` +
    `,"profit":${microsText(field('profitMicros'))}}`
  );
}

function claimedText(assets: Assets, values: Float64Array, at: number): string {
  const field = (name: keyof typeof claimed) => values[at + claimed[name]]!;
  return (
    `{"type":"claimed","marketId":"${marketIdText(assets, field('marketId'))}","shares":${lotsText(field('lots'))}` +
    `,"payout":${microsText(field('payoutMicros'))},"refundedFees":${microsText(field('refundMicros'))}` +
    `,"automatic":${field('automatic') === 1}}`
  );
}
