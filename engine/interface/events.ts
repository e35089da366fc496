/**
 * The events of one command, in order, in a buffer of integers. An event is its number (EventType)
 * followed by its fields, in engine units and in the order of EVENT_FIELDS.
 *
 * Events contain everything that history and streams need, including all money and all shares that
 * change hands.
 */
import { type NumberBuffer, offsetsOf } from '../storage/number-buffer.js';
import { MAX_CLIENT_ORDER_ID_LENGTH } from './limits.js';

/** A client's name for an order takes so many fields, with CHARACTERS_IN_FIELD in each. */
const NAME_FIELDS = [
  'name1',
  'name2',
  'name3',
  'name4',
  'name5',
  'name6',
  'name7',
  'name8',
  'name9',
  'name10',
  'name11',
] as const;
const CHARACTERS_IN_FIELD = 6;
if (NAME_FIELDS.length * CHARACTERS_IN_FIELD < MAX_CLIENT_ORDER_ID_LENGTH)
  throw new Error('a name does not fit into its fields');

/** The fields of each event. An event's position in this table is its permanent number. */
export const EVENT_FIELDS = {
  /** Never written: number 0. */
  none: [],
  assetListed: ['asset'],
  priceObserved: ['asset', 'priceMicros', 'observedAtMs'],
  /** Its start price may still change once, until RESOLVE_DELAY_MS after the window's start. */
  marketOpened: ['marketId', 'startPriceMicros'],
  startPriceFixed: ['marketId', 'startPriceMicros'],
  marketEnded: ['marketId'],
  /** endPriceMicros is 0 when VOID. */
  marketResolved: ['marketId', 'resolution', 'endPriceMicros'],
  /** A market's fees are shared. On VOID all three are 0, and the fees are refunded with claims. */
  feesShared: ['marketId', 'vaultMicros', 'referrersMicros', 'treasuryMicros'],
  /** Everything is paid; the engine forgets the market. */
  marketClosed: ['marketId'],
  /**
   * referrerId 0: none. `partner` is the number of the user's partner (partners.ts), 0: none.
   * parentId 0: it is not a sub-account.
   */
  userRegistered: ['userId', 'referrerId', 'partner', 'parentId'],
  credentialSet: ['userId', 'version'],
  deposited: ['userId', 'source', 'amountMicros'],
  withdrawn: ['userId', 'amountMicros'],
  /**
   * A command has placed an order, after the order's trades in it. `restingLots` rest in the book;
   * 0: the order has ended, as `status` says. `sizeLots` is all that was placed; of a buy that its
   * budget has ended, what it bought and what rests. expiresAtMs 0: when the market ends. `anew` 1:
   * an amendment took it out of the book before.
   */
  orderPlaced: [
    'orderId',
    'marketId',
    'userId',
    'side',
    'outcome',
    'priceTicks',
    'restingLots',
    'sizeLots',
    'status',
    'timeInForce',
    'postOnly',
    'selfTrade',
    'expiresAtMs',
    'anew',
  ],
  orderCancelled: [
    'orderId',
    'marketId',
    'userId',
    'side',
    'outcome',
    'priceTicks',
    'sizeLots',
    'reason',
  ],
  /**
   * Two orders trade at the maker's price. `upTicks` is the price of UP; DOWN's is 1000 - upTicks.
   * `feeMicros` is this trade's part of the taker's fee. The profits are what the trade realizes
   * for each side: for a sale, value less cost, and for the taker, less the fee.
   */
  trade: [
    'tradeId',
    'marketId',
    'matchType',
    'upTicks',
    'sizeLots',
    'takerOrderId',
    'takerId',
    'takerSide',
    'takerOutcome',
    'makerOrderId',
    'makerId',
    'makerSide',
    'makerOutcome',
    'feeMicros',
    'takerProfitMicros',
    'makerProfitMicros',
  ],
  /**
   * Resolution closes a position. `payoutMicros` (0 for losers) and `refundMicros` (the fees, on
   * VOID only) become claimable. `profitMicros` is payout plus refund less cost.
   */
  positionSettled: [
    'userId',
    'marketId',
    'resolution',
    'upLots',
    'downLots',
    'upCostMicros',
    'downCostMicros',
    'feesMicros',
    'payoutMicros',
    'refundMicros',
    'profitMicros',
  ],
  /** The lots that are paid for. `automatic` 1: because the user did not claim in time. */
  claimed: [
    'marketId',
    'userId',
    'upLots',
    'downLots',
    'payoutMicros',
    'refundMicros',
    'automatic',
  ],
  /** Points are in millionths. */
  pointsCredited: ['userId', 'marketId', 'reason', 'microPoints'],
  referralEarned: ['referrerId', 'userId', 'marketId', 'amountMicros'],
  staked: ['depositId', 'userId', 'amountMicros', 'earnsFromMs'],
  unstaked: ['depositId', 'userId', 'amountMicros', 'yieldMicros'],
  yieldClaimed: ['depositId', 'userId', 'yieldMicros'],
  /** The last vault deposit is closed, and the yield lost to rounding goes to the treasury. */
  vaultRemainder: ['amountMicros'],
  referralCodeSet: ['userId'],
  /** expiresAtMs MAX_TIME_MS: never. credentialSet ends all tokens of the user. */
  tokenCreated: ['tokenId', 'userId', 'scope', 'expiresAtMs'],
  tokenRevoked: ['tokenId', 'userId'],
  tokenExpired: ['tokenId', 'userId'],
  /** The user's resting orders have been cancelled, because their time had come. */
  cancelAfterFired: ['userId', 'dueAtMs'],
  /** An active or upcoming market begins (1) or ceases (0) to be paused. */
  marketPaused: ['marketId', 'paused'],
  userFrozen: ['userId', 'frozen'],
  privacyChanged: ['userId', 'privacy'],
  /**
   * A resting order has other terms. keptPriority 1: it rests on where it was, with `sizeLots` (0:
   * all it shall have is filled, and it is closed). 0: it has left the book, and `sizeLots` are
   * placed anew; their trades and orderPlaced follow.
   */
  orderAmended: [
    'orderId',
    'marketId',
    'userId',
    'side',
    'outcome',
    'oldPriceTicks',
    'oldSizeLots',
    'priceTicks',
    'sizeLots',
    'originalLots',
    'keptPriority',
  ],
  /** From now on these rules are in force (rule-sets.ts). */
  rulesChanged: [
    'ruleSet',
    'takerFeeBasisPoints',
    'vaultSharePercent',
    'maxOrderMicros',
    'maxOpenOrders',
    'minRestingMicros',
  ],
  /** The guard holds a price back: it is far from the last one. It has no effect. */
  priceHeld: ['asset', 'priceMicros', 'observedAtMs'],
  /** The client's name of the order in the orderPlaced before it (packName). */
  orderNamed: ['orderId', 'userId', ...NAME_FIELDS],
  /** Money, 1,000 micros a lot and the fee, has become `sizeLots` of each outcome. */
  setsSplit: ['marketId', 'userId', 'sizeLots', 'feeMicros'],
  /** `sizeLots` of each outcome, which have cost `costMicros`, have become money. */
  setsMerged: ['marketId', 'userId', 'sizeLots', 'costMicros'],
  /** The order group of the order in the orderPlaced before it. */
  orderGrouped: ['orderId', 'userId', 'groupId'],
  orderGroupCreated: ['groupId', 'userId', 'maxFilledLots', 'windowMs'],
  /** What its orders filled in a window reached its maximum; its other orders were cancelled. */
  orderGroupTripped: ['groupId', 'userId', 'filledLots'],
  orderGroupReset: ['groupId', 'userId'],
  orderGroupRemoved: ['groupId', 'userId'],
  /** A market is upcoming. One that opens without it was not listed before. */
  marketListed: ['marketId'],
  /** Money goes to another account of the family; transferredIn follows. */
  transferredOut: ['userId', 'toUserId', 'amountMicros'],
  transferredIn: ['userId', 'fromUserId', 'amountMicros'],
} as const satisfies Record<string, readonly string[]>;

export type EventName = Exclude<keyof typeof EVENT_FIELDS, 'none'>;
export const EVENT_NAMES = Object.keys(EVENT_FIELDS) as (keyof typeof EVENT_FIELDS)[];

/** The number of each event: EventType.trade, … */
export const EventType = offsetsOf(EVENT_NAMES);

/** The offset of each field from the event's number: EventSlot.trade.tradeId is 1. */
export const EventSlot = Object.freeze(
  Object.fromEntries(
    EVENT_NAMES.map((name) => [name, offsetsOf(EVENT_FIELDS[name] as readonly string[], 1)]),
  ) as {
    readonly [Name in keyof typeof EVENT_FIELDS]: Readonly<
      Record<(typeof EVENT_FIELDS)[Name][number], number>
    >;
  },
);

/** By event number: the entries that the event takes, its number included. */
export const EVENT_LENGTHS: readonly number[] = EVENT_NAMES.map(
  (name) => EVENT_FIELDS[name].length + 1,
);

/** Makes room for an event, and writes its number. The caller writes the fields from there on. */
export function beginEvent(events: NumberBuffer, type: number): number {
  const at = events.reserve(EVENT_LENGTHS[type]!);
  events.values[at] = type;
  return at;
}

/** Writes a name of `length` ASCII characters to the fields of orderNamed, zeros after it. */
export function packName(
  values: Float64Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  length: number,
): void {
  let next = from + length - 1;
  for (let field = NAME_FIELDS.length - 1; field >= 0; field--) {
    let packed = 0;
    for (; next >= from + field * CHARACTERS_IN_FIELD; next--) packed = packed * 256 + bytes[next]!;
    values[at + EventSlot.orderNamed.name1 + field] = packed;
  }
}

/** The name in an orderNamed. */
export function nameIn(event: EventRecord<'orderNamed'>): string {
  let name = '';
  for (const field of NAME_FIELDS)
    for (let packed = event[field]; packed > 0; packed = Math.floor(packed / 256))
      name += String.fromCharCode(packed % 256);
  return name;
}

/** One event as an object, for code that is not hot. */
export type EventRecord<K extends EventName = EventName> = {
  [Name in K]: { type: Name } & Record<(typeof EVENT_FIELDS)[Name][number], number>;
}[K];

/** The events of a buffer, in order. */
export function decodeEvents(events: NumberBuffer): EventRecord[] {
  const records: EventRecord[] = [];
  let at = 0;
  while (at < events.length) {
    records.push(decodeEvent(events.values, at));
    at += EVENT_LENGTHS[events.values[at]!]!;
  }
  return records;
}

/** The event that begins at `at`. */
export function decodeEvent(values: ArrayLike<number>, at: number): EventRecord {
  const name = EVENT_NAMES[values[at]!];
  if (name === undefined || name === 'none')
    throw new Error(`no event has the number ${values[at]}`);
  const record: Record<string, number | string> = { type: name };
  const fields: readonly string[] = EVENT_FIELDS[name];
  for (let i = 0; i < fields.length; i++) record[fields[i]!] = values[at + 1 + i]!;
  return record as EventRecord;
}
