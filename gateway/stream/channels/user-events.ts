/**
 * An account's events, as schemas and as text. They cover every gain and loss of money and shares:
 * a snapshot plus the events since then gives the balance and orders of every later message.
 */
import { z } from 'zod';
import {
  type CancelReason,
  DepositSource,
  OrderStatus,
  ticksIn,
} from '../../../engine/interface/domain.js';
import { EventSlot, EventType } from '../../../engine/interface/events.js';
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
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
import { CANCEL_REASONS, END_REASONS, ENDED } from '../../json/cancel-reasons.js';
import * as fields from '../../json/response-fields.js';

/** A message or event schema with this `type`. */
export const typed = <Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) =>
  z.strictObject({ type: z.literal(name).describe('What it is'), ...shape });

const order = {
  orderId: fields.orderId,
  clientOrderId: fields.clientOrderId,
  marketId: fields.marketId,
  side: fields.side,
  outcome: fields.outcome,
  price: fields.price,
  shares: fields.shares,
};
export const UserEvent = z.discriminatedUnion('type', [
  typed('order_rested', order),
  typed('order_cancelled', {
    ...order,
    reason: z.enum(Object.values(CANCEL_REASONS)).describe('Why it happened'),
  }),
  typed('order_ended', {
    orderId: fields.orderId,
    clientOrderId: fields.clientOrderId,
    marketId: fields.marketId,
    reason: z.enum(ENDED).describe('Why the rest was not filled'),
  }),
  typed('order_amended', {
    ...order,
    oldPrice: fields.price,
    oldShares: fields.shares,
    originalShares: fields.shares,
    keptPriority: z.boolean().describe('Whether the order kept its place in the queue'),
  }),
  typed('fill', {
    tradeId: fields.tradeId,
    orderId: fields.orderId,
    clientOrderId: fields.clientOrderId,
    marketId: fields.marketId,
    role: fields.role,
    side: fields.side,
    outcome: fields.outcome,
    price: fields.price,
    shares: fields.shares,
    value: fields.money,
    fee: fields.money,
    matchType: fields.matchType,
  }),
  typed('position_settled', {
    marketId: fields.marketId,
    UP: fields.shares,
    DOWN: fields.shares,
    cost: fields.money,
    payout: fields.money,
    refundedFees: fields.money,
    profit: fields.money,
  }),
  z.strictObject({
    type: z.literal('sets_split'),
    marketId: fields.marketId,
    shares: fields.shares,
    fee: fields.money,
  }),
  z.strictObject({
    type: z.literal('sets_merged'),
    marketId: fields.marketId,
    shares: fields.shares,
    profit: fields.money,
  }),
  typed('claimed', {
    marketId: fields.marketId,
    shares: fields.shares,
    payout: fields.money,
    refundedFees: fields.money,
    automatic: z.boolean().describe('Whether the exchange paid without a request'),
  }),
  typed('deposited', {
    amount: fields.money,
    source: z.enum(['grant', 'partner']).describe('Where it came from'),
  }),
  typed('user_frozen', {
    frozen: z.boolean().describe('Whether an operator has frozen the account'),
  }),
  typed('cancel_after_fired', {
    cancelAtMs: fields.count.describe('The time for which the cancellation was set'),
  }),
  typed('order_group_tripped', {
    groupId: fields.groupId,
    filledShares: fields.shares.describe('What its orders filled in the window'),
  }),
  typed('withdrawn', { amount: fields.money }),
  typed('transferred_in', { from: fields.userId, amount: fields.money }),
  typed('transferred_out', { to: fields.userId, amount: fields.money }),
  typed('staked', {
    depositId: fields.depositId,
    amount: fields.money,
    earnsFromMs: fields.count.describe(
      'When the deposit starts to earn, in milliseconds since the epoch',
    ),
  }),
  typed('unstaked', { depositId: fields.depositId, amount: fields.money, yield: fields.money }),
  typed('yield_claimed', { depositId: fields.depositId, yield: fields.money }),
  typed('referral_earned', { marketId: fields.marketId, amount: fields.money }),
  typed('points_credited', {
    marketId: fields.marketId,
    points: z.number().describe('Points, at most 6 decimal places'),
    reason: z.enum(['fees', 'referral']).describe('Why it happened'),
  }),
]);

const SOURCES = { [DepositSource.GRANT]: 'grant', [DepositSource.PARTNER]: 'partner' } as const;

type EventName = keyof typeof EventSlot;
type FieldName<Event extends EventName> = keyof (typeof EventSlot)[Event] & string;
/** Reads a field of an event, by name. */
type Read<Name extends string> = (name: Name) => number;

function fieldsOf<Event extends EventName>(
  event: Event,
  values: Float64Array,
  at: number,
): Read<FieldName<Event>> {
  const slots: Record<string, number> = EventSlot[event];
  return (name) => values[at + slots[name]!]!;
}

interface OneUserEvent {
  /** The user's position in the event. */
  userAt: number;
  text(names: Names, values: Float64Array, at: number): string;
}

/** Resolves ids to names. */
export interface Names extends Assets {
  /** The client's id of an order in an event of the last command; null: the order has none. */
  clientOrderId(orderId: number): string | null;
}

/**
 * Describes an event of one user. `user`: the field with the user's id. `text`: the fields that
 * the client sees, including `type` if the argument `type` is null.
 */
function oneUser<Event extends EventName>(
  event: Event,
  user: FieldName<Event>,
  text: (field: Read<FieldName<Event>>, names: Names) => string,
  type: string | null = event.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
): readonly [number, OneUserEvent] {
  const slots: Record<string, number> = EventSlot[event];
  return [
    EventType[event],
    {
      userAt: slots[user]!,
      text: (names, values, at) =>
        `{${type === null ? '' : `"type":"${type}",`}${text(fieldsOf(event, values, at), names)}}`,
    },
  ];
}

/** The fields that all events of resting orders have. */
function orderFields(
  field: Read<'orderId' | 'marketId' | 'side' | 'outcome' | 'priceTicks'>,
  lots: number,
  names: Names,
): string {
  return (
    `${orderIds(names, field('orderId'))},"marketId":"${marketIdText(names, field('marketId'))}"` +
    `,"side":"${sideName(field('side'))}","outcome":"${outcomeName(field('outcome'))}"` +
    `,"price":${ticksText(field('priceTicks'))},"shares":${lotsText(lots)}`
  );
}

/** The exchange's and the client's order id. Client order ids need no escaping. */
function orderIds(names: Names, orderId: number): string {
  const name = names.clientOrderId(orderId);
  return `"orderId":"o${orderId}","clientOrderId":${name === null ? 'null' : `"${name}"`}`;
}

/** A number of complete sets, as shares of each outcome. */
function sets(field: Read<'marketId' | 'sizeLots'>, assets: Assets): string {
  return `"marketId":"${marketIdText(assets, field('marketId'))}","shares":${lotsText(field('sizeLots'))}`;
}

/** Trades are not listed here: they have two users. */
const ONE_USER = new Map<number, OneUserEvent>([
  oneUser(
    'orderPlaced',
    'userId',
    (field, names) => {
      if (field('restingLots') > 0)
        return `"type":"order_rested",${orderFields(field, field('restingLots'), names)}`;
      const market = marketIdText(names, field('marketId'));
      const reason = END_REASONS[field('status')];
      return `"type":"order_ended",${orderIds(names, field('orderId'))},"marketId":"${market}","reason":"${reason}"`;
    },
    null,
  ),
  oneUser('orderCancelled', 'userId', (field, names) => {
    const reason = CANCEL_REASONS[field('reason') as CancelReason];
    return `${orderFields(field, field('sizeLots'), names)},"reason":"${reason}"`;
  }),
  oneUser('orderAmended', 'userId', (field, names) => {
    const old = `"oldPrice":${ticksText(field('oldPriceTicks'))},"oldShares":${lotsText(field('oldSizeLots'))}`;
    const original = `"originalShares":${lotsText(field('originalLots'))}`;
    return `${orderFields(field, field('sizeLots'), names)},${old},${original},"keptPriority":${field('keptPriority') === 1}`;
  }),
  oneUser('setsSplit', 'userId', (field, assets) => {
    return `${sets(field, assets)},"fee":${microsText(field('feeMicros'))}`;
  }),
  oneUser('setsMerged', 'userId', (field, assets) => {
    const profitMicros = field('sizeLots') * MICROS_PER_SET - field('costMicros');
    return `${sets(field, assets)},"profit":${microsText(profitMicros)}`;
  }),
  // The payout and refund become claimable; `claimed` follows when they are paid.
  oneUser(
    'positionSettled',
    'userId',
    (field, assets) =>
      `"marketId":"${marketIdText(assets, field('marketId'))}"` +
      `,"UP":${lotsText(field('upLots'))},"DOWN":${lotsText(field('downLots'))}` +
      `,"cost":${microsText(field('upCostMicros') + field('downCostMicros'))}` +
      `,"payout":${microsText(field('payoutMicros'))}` +
      `,"refundedFees":${microsText(field('refundMicros'))}` +
      `,"profit":${microsText(field('profitMicros'))}`,
  ),
  oneUser(
    'claimed',
    'userId',
    (field, assets) =>
      `"marketId":"${marketIdText(assets, field('marketId'))}","shares":${lotsText(field('upLots') + field('downLots'))}` +
      `,"payout":${microsText(field('payoutMicros'))}` +
      `,"refundedFees":${microsText(field('refundMicros'))},"automatic":${field('automatic') === 1}`,
  ),
  oneUser('deposited', 'userId', (field) => {
    const source = SOURCES[field('source') as DepositSource];
    return `"amount":${microsText(field('amountMicros'))},"source":"${source}"`;
  }),
  oneUser('transferredIn', 'userId', (field) => {
    return `"from":"u${field('fromUserId')}","amount":${microsText(field('amountMicros'))}`;
  }),
  oneUser('transferredOut', 'userId', (field) => {
    return `"to":"u${field('toUserId')}","amount":${microsText(field('amountMicros'))}`;
  }),
  oneUser('cancelAfterFired', 'userId', (field) => `"cancelAtMs":${field('dueAtMs')}`),
  oneUser('orderGroupTripped', 'userId', (field) => {
    return `"groupId":"g${field('groupId')}","filledShares":${lotsText(field('filledLots'))}`;
  }),
  oneUser('userFrozen', 'userId', (field) => `"frozen":${field('frozen') === 1}`),
  oneUser('withdrawn', 'userId', (field) => `"amount":${microsText(field('amountMicros'))}`),
  oneUser(
    'staked',
    'userId',
    (field) =>
      `"depositId":"d${field('depositId')}","amount":${microsText(field('amountMicros'))}` +
      `,"earnsFromMs":${field('earnsFromMs')}`,
  ),
  oneUser(
    'unstaked',
    'userId',
    (field) =>
      `"depositId":"d${field('depositId')}","amount":${microsText(field('amountMicros'))}` +
      `,"yield":${microsText(field('yieldMicros'))}`,
  ),
  oneUser('yieldClaimed', 'userId', (field) => {
    return `"depositId":"d${field('depositId')}","yield":${microsText(field('yieldMicros'))}`;
  }),
  // Omits the user who paid the fees, because their trades are private.
  oneUser('referralEarned', 'referrerId', (field, assets) => {
    const market = marketIdText(assets, field('marketId'));
    return `"marketId":"${market}","amount":${microsText(field('amountMicros'))}`;
  }),
  oneUser(
    'pointsCredited',
    'userId',
    (field, assets) =>
      `"marketId":"${marketIdText(assets, field('marketId'))}"` +
      `,"points":${microsText(field('microPoints'))},"reason":"${pointsReasonName(field('reason'))}"`,
  ),
]);

/** By event type: the offset of the user; 0: the event does not concern one user's account. */
const USER_AT: readonly number[] = Array.from(
  { length: Math.max(...Object.values(EventType)) + 1 },
  (_, type) => ONE_USER.get(type)?.userAt ?? 0,
);

/**
 * The one user whose account an event concerns; 0: none. An order that fills immediately appears
 * only in its fills.
 */
export function oneUserOf(values: Float64Array, at: number): number {
  const type = values[at]!;
  const userAt = USER_AT[type]!;
  const isShown =
    userAt !== 0 &&
    (type !== EventType.orderPlaced ||
      values[at + EventSlot.orderPlaced.restingLots]! > 0 ||
      values[at + EventSlot.orderPlaced.status] !== OrderStatus.FILLED);
  return isShown ? values[at + userAt]! : 0;
}

/** The offset of the market in events that change a position; 0: other events. */
export function positionMarketAt(type: number): number {
  if (type === EventType.trade) return EventSlot.trade.marketId;
  if (type === EventType.positionSettled) return EventSlot.positionSettled.marketId;
  if (type === EventType.setsSplit) return EventSlot.setsSplit.marketId;
  if (type === EventType.setsMerged) return EventSlot.setsMerged.marketId;
  return type === EventType.claimed ? EventSlot.claimed.marketId : 0;
}

export function userEventText(
  names: Names,
  userId: number,
  values: Float64Array,
  at: number,
): string {
  const type = values[at]!;
  return type === EventType.trade
    ? fillText(names, userId, values, at)
    : ONE_USER.get(type)!.text(names, values, at);
}

/** A trade from the side of one of its two users. */
function fillText(names: Names, userId: number, values: Float64Array, at: number): string {
  const field = fieldsOf('trade', values, at);
  const isTaker = field('takerId') === userId;
  const outcome = field(isTaker ? 'takerOutcome' : 'makerOutcome');
  const priceTicks = ticksIn(outcome, field('upTicks'));
  const lots = field('sizeLots');
  return (
    `{"type":"fill","tradeId":"t${field('tradeId')}",${orderIds(names, field(isTaker ? 'takerOrderId' : 'makerOrderId'))}` +
    `,"marketId":"${marketIdText(names, field('marketId'))}","role":"${isTaker ? 'taker' : 'maker'}"` +
    `,"side":"${sideName(field(isTaker ? 'takerSide' : 'makerSide'))}","outcome":"${outcomeName(outcome)}"` +
    `,"price":${ticksText(priceTicks)},"shares":${lotsText(lots)},"value":${microsText(lots * priceTicks)}` +
    `,"fee":${microsText(isTaker ? field('feeMicros') : 0)},"matchType":"${matchTypeName(field('matchType'))}"}`
  );
}
