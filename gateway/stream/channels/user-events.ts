/**
 * An account's events: schemas, and how they are written from the engine's. They cover every change
 * of money and shares: a snapshot plus later events yields every later balance and order.
 */
import { z } from 'zod';
import {
  type CancelReason,
  DepositSource,
  OrderStatus,
  ticksIn,
} from '../../../engine/interface/domain.js';
import {
  type EVENT_FIELDS,
  type EventName,
  EventSlot,
  EventType,
} from '../../../engine/interface/events.js';
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { type Assets, pointsReasonName } from '../../../engine/interface/notation.js';
import { CANCEL_REASONS, END_REASONS, ENDED } from '../../json/cancel-reasons.js';
import * as fields from '../../json/response-fields.js';
import { type From, Writer } from '../../json/writer.js';

export const typed = <Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) =>
  z.strictObject({ type: z.literal(name).describe('What it is'), ...shape });

export interface NamedThings extends Assets {
  /** Returns the client's id of an order in the last command's events, or `null`. */
  clientOrderId(orderId: number): string | null;
}

type FieldName<Event extends EventName> = (typeof EVENT_FIELDS)[Event][number];
export type EventFields<Event extends EventName> = Record<FieldName<Event>, number>;

/** Returns a function that reads the event at an offset into one reused object. */
export function eventReader<Event extends EventName>(
  event: Event,
): (values: Float64Array, at: number) => EventFields<Event> {
  const names = Object.keys(EventSlot[event]) as FieldName<Event>[];
  const fields = Object.fromEntries(names.map((name) => [name, 0])) as EventFields<Event>;
  return (values, at) => {
    for (let i = 0; i < names.length; i++) fields[names[i]!] = values[at + 1 + i]!;
    return fields;
  };
}

type EventText = (names: NamedThings, values: Float64Array, at: number) => string;

function textOf<Event extends EventName>(
  event: Event,
  schema: z.ZodObject,
  from: From<EventFields<Event>, NamedThings>,
): EventText {
  const read = eventReader(event);
  const known = Object.keys(EventSlot[event]);
  const { text } = new Writer<EventFields<Event>, NamedThings>(schema, from, known);
  return (names, values, at) => text(read(values, at), names);
}

/** Texts by event type, except trades, which have two users. */
const TEXTS = new Map<number, EventText>();
/** Offset of the user by event type; 0 if an event does not concern one user's account. */
const USER_AT: number[] = new Array(Math.max(...Object.values(EventType)) + 1).fill(0);

/** Defines an event of one user. `type` is its name in messages, `user` the user's field. */
function oneUser<Event extends EventName, Type extends string, Shape extends z.ZodRawShape>(
  event: Event,
  type: Type,
  shape: Shape,
  from: From<EventFields<Event>, NamedThings> = {},
  user: FieldName<Event> = 'userId' as FieldName<Event>,
) {
  const schema = typed(type, shape);
  TEXTS.set(EventType[event], textOf(event, schema, from));
  USER_AT[EventType[event]] = (EventSlot[event] as Record<string, number>)[user]!;
  return schema;
}

const order = {
  orderId: fields.orderId,
  clientOrderId: fields.clientOrderId,
  marketId: fields.marketId,
  side: fields.side,
  outcome: fields.outcome,
  price: fields.price,
  shares: fields.shares,
};
const NAMED = {
  clientOrderId: ({ orderId }: { orderId: number }, names: NamedThings) =>
    names.clientOrderId(orderId),
};
const { marketId, money, shares } = fields;

const orderRested = typed('order_rested', {
  ...order,
  sharesAhead: shares.describe('Shares at the same price that trade before this order'),
});
const orderEnded = typed('order_ended', {
  orderId: fields.orderId,
  clientOrderId: fields.clientOrderId,
  marketId,
  reason: z.enum(ENDED).describe('Why the remainder was not filled'),
});
const fill = typed('fill', {
  tradeId: fields.tradeId,
  orderId: fields.orderId,
  clientOrderId: fields.clientOrderId,
  marketId,
  role: fields.role,
  side: fields.side,
  outcome: fields.outcome,
  price: fields.price,
  shares,
  value: money,
  fee: money,
  matchType: fields.matchType,
});

export const UserEvent = z.discriminatedUnion('type', [
  orderRested,
  oneUser(
    'orderCancelled',
    'order_cancelled',
    { ...order, reason: z.enum(Object.values(CANCEL_REASONS)).describe('Why it happened') },
    {
      ...NAMED,
      shares: 'sizeLots',
      reason: ({ reason }) => CANCEL_REASONS[reason as CancelReason],
    },
  ),
  orderEnded,
  oneUser(
    'orderAmended',
    'order_amended',
    {
      ...order,
      oldPrice: fields.price,
      oldShares: shares,
      originalShares: shares,
      keptPriority: z.boolean().describe('Whether the order kept its place in the queue'),
    },
    { ...NAMED, shares: 'sizeLots', oldShares: 'oldSizeLots' },
  ),
  fill,
  // Makes payout and refund claimable. `claimed` follows on payment, which may be automatic.
  oneUser(
    'positionSettled',
    'position_settled',
    {
      marketId,
      UP: shares,
      DOWN: shares,
      cost: money,
      payout: money,
      refundedFees: money,
      profit: money,
    },
    { cost: (event) => event.upCostMicros + event.downCostMicros, refundedFees: 'refundMicros' },
  ),
  oneUser('setsSplit', 'sets_split', { marketId, shares, fee: money }, { shares: 'sizeLots' }),
  oneUser(
    'setsMerged',
    'sets_merged',
    { marketId, shares, profit: money },
    {
      shares: 'sizeLots',
      profit: ({ sizeLots, costMicros }) => sizeLots * MICROS_PER_SET - costMicros,
    },
  ),
  oneUser(
    'claimed',
    'claimed',
    {
      marketId,
      shares,
      payout: money,
      refundedFees: money,
      automatic: z.boolean().describe('Whether the exchange paid without a request'),
    },
    { shares: ({ upLots, downLots }) => upLots + downLots, refundedFees: 'refundMicros' },
  ),
  oneUser(
    'deposited',
    'deposited',
    { amount: money, source: z.enum(['grant', 'partner']).describe('The source of the money') },
    { source: ({ source }) => (source === DepositSource.GRANT ? 'grant' : 'partner') },
  ),
  oneUser('userFrozen', 'user_frozen', {
    frozen: z.boolean().describe('Whether an operator has frozen the account'),
  }),
  oneUser(
    'cancelAfterFired',
    'cancel_after_fired',
    { cancelAtMs: fields.count.describe('The scheduled time of the cancellation') },
    { cancelAtMs: 'dueAtMs' },
  ),
  oneUser('orderGroupTripped', 'order_group_tripped', {
    groupId: fields.groupId,
    filledShares: shares.describe('Shares filled by the group’s orders in the window'),
  }),
  oneUser('withdrawn', 'withdrawn', { amount: money }),
  oneUser(
    'transferredIn',
    'transferred_in',
    { from: fields.userId, amount: money },
    { from: 'fromUserId' },
  ),
  oneUser(
    'transferredOut',
    'transferred_out',
    { to: fields.userId, amount: money },
    { to: 'toUserId' },
  ),
  oneUser('staked', 'staked', {
    depositId: fields.depositId,
    amount: money,
    earnsFromMs: fields.count.describe(
      'When the deposit starts to earn, in milliseconds since the epoch',
    ),
  }),
  oneUser('unstaked', 'unstaked', { depositId: fields.depositId, amount: money, yield: money }),
  oneUser('yieldClaimed', 'yield_claimed', { depositId: fields.depositId, yield: money }),
  // Omits the user who paid the fees, because their trades are private.
  oneUser('referralEarned', 'referral_earned', { marketId, amount: money }, {}, 'referrerId'),
  oneUser('makerShareEarned', 'maker_share_earned', { marketId, amount: money }),
  oneUser(
    'pointsCredited',
    'points_credited',
    {
      marketId,
      points: fields.points,
      reason: z.enum(['fees', 'referral']).describe('Why it happened'),
    },
    { points: 'microPoints', reason: ({ reason }) => pointsReasonName(reason) },
  ),
]);

const restedText = textOf('orderPlaced', orderRested, {
  ...NAMED,
  shares: 'restingLots',
  sharesAhead: 'aheadLots',
});
const endedText = textOf('orderPlaced', orderEnded, {
  ...NAMED,
  reason: ({ status }) => END_REASONS[status],
});
const { userId: PLACED_BY, restingLots: RESTING, status: STATUS } = EventSlot.orderPlaced;
USER_AT[EventType.orderPlaced] = PLACED_BY;
TEXTS.set(EventType.orderPlaced, (names, values, at) =>
  (values[at + RESTING]! > 0 ? restedText : endedText)(names, values, at),
);

function fillText(side: 'taker' | 'maker'): EventText {
  const isTaker = side === 'taker';
  type Trade = EventFields<'trade'>;
  const orderId = (trade: Trade) => trade[`${side}OrderId`];
  const outcome = (trade: Trade) => trade[`${side}Outcome`];
  const price = (trade: Trade) => ticksIn(outcome(trade), trade.upTicks);
  return textOf('trade', fill, {
    orderId,
    clientOrderId: (trade, names) => names.clientOrderId(orderId(trade)),
    role: () => side,
    side: `${side}Side`,
    outcome,
    price,
    shares: 'sizeLots',
    value: (trade) => trade.sizeLots * price(trade),
    fee: ({ feeMicros }) => (isTaker ? feeMicros : 0),
  });
}
const takerText = fillText('taker');
const makerText = fillText('maker');

/** 0 unless the event concerns one user. An order that fills immediately shows only its fills. */
export function oneUserOf(values: Float64Array, at: number): number {
  const type = values[at]!;
  const userAt = USER_AT[type]!;
  const isShown =
    userAt !== 0 &&
    (type !== EventType.orderPlaced ||
      values[at + RESTING]! > 0 ||
      values[at + STATUS] !== OrderStatus.FILLED);
  return isShown ? values[at + userAt]! : 0;
}

/** Returns the offset of the market in an event that changes a position, or 0. */
export function positionMarketAt(type: number): number {
  if (type === EventType.trade) return EventSlot.trade.marketId;
  if (type === EventType.positionSettled) return EventSlot.positionSettled.marketId;
  if (type === EventType.setsSplit) return EventSlot.setsSplit.marketId;
  if (type === EventType.setsMerged) return EventSlot.setsMerged.marketId;
  return type === EventType.claimed ? EventSlot.claimed.marketId : 0;
}

export function userEventText(
  names: NamedThings,
  userId: number,
  values: Float64Array,
  at: number,
): string {
  const type = values[at]!;
  if (type !== EventType.trade) return TEXTS.get(type)!(names, values, at);
  const isTaker = values[at + EventSlot.trade.takerId] === userId;
  return (isTaker ? takerText : makerText)(names, values, at);
}
