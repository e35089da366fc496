/**
 * The events of one command, in order, in a buffer of integers. An event is its number (EventType)
 * followed by its fields, in engine units and in the order of EVENT_FIELDS.
 *
 * Invariant: events contain everything that history and streams need, including every change of
 * money and shares.
 */
import { type NumberBuffer, offsetsOf } from '../storage/number-buffer.js';
import { MAX_CLIENT_ORDER_ID_LENGTH } from './limits.js';

/** The fields of a clientOrderId, with CHARACTERS_IN_FIELD characters in each. */
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

const ORDER = ['orderId', 'marketId', 'userId', 'side', 'outcome'] as const;

/** An event's position in this table is its permanent number. */
export const EVENT_FIELDS = {
  /** Number 0 is never written. */
  none: [],
  assetListed: ['asset'],
  priceObserved: ['asset', 'priceMicros', 'observedAtMs'],
  /** Its start price may still change once, until RESOLVE_DELAY_MS after the window's start. */
  marketOpened: ['marketId', 'startPriceMicros'],
  startPriceFixed: ['marketId', 'startPriceMicros'],
  marketEnded: ['marketId'],
  /** endPriceMicros is 0 when VOID. */
  marketResolved: ['marketId', 'resolution', 'endPriceMicros'],
  /** On VOID all four are 0, and claims refund the fees. */
  feesShared: ['marketId', 'vaultMicros', 'referrersMicros', 'makersMicros', 'treasuryMicros'],
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
   * A command has placed an order; its trades precede this event. `restingLots` 0: the order has
   * ended, by `status`. `sizeLots` is the size; of a buy that its budget ended, the lots bought and
   * resting. expiresAtMs 0: when the market ends. `anew` 1: an amendment placed it again.
   * `aheadLots` rest ahead of it at its price.
   */
  orderPlaced: [
    ...ORDER,
    'priceTicks',
    'restingLots',
    'sizeLots',
    'status',
    'timeInForce',
    'postOnly',
    'selfTrade',
    'expiresAtMs',
    'anew',
    'aheadLots',
  ],
  orderCancelled: [...ORDER, 'priceTicks', 'sizeLots', 'reason'],
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
   * VOID only) become claimable, or `claimed` follows. `profitMicros` is payout plus refund less
   * cost.
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
  /** The lots are those that are paid. `automatic` 1: without a claim. */
  claimed: [
    'marketId',
    'userId',
    'upLots',
    'downLots',
    'payoutMicros',
    'refundMicros',
    'automatic',
  ],
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
  /** The dead man's switch has cancelled the user's resting orders. */
  cancelAfterFired: ['userId', 'dueAtMs'],
  marketPaused: ['marketId', 'paused'],
  userFrozen: ['userId', 'frozen'],
  privacyChanged: ['userId', 'privacy'],
  /**
   * A resting order has new terms. keptPriority 1: it keeps its place, with `sizeLots` left (0: it
   * is filled and closed). keptPriority 0: it has left the book, and `sizeLots` are placed again;
   * their trades and orderPlaced follow.
   */
  orderAmended: [
    ...ORDER,
    'oldPriceTicks',
    'oldSizeLots',
    'priceTicks',
    'sizeLots',
    'originalLots',
    'keptPriority',
  ],
  /** The rules in force from now on (rule-sets.ts). */
  rulesChanged: [
    'ruleSet',
    'takerFeeBasisPoints',
    'curveFeeBasisPoints',
    'makerSharePercent',
    'vaultSharePercent',
    'maxOrderMicros',
    'maxOpenOrders',
    'minRestingMicros',
  ],
  /** The guard holds back a price that is far from the last one; it has no effect. */
  priceHeld: ['asset', 'priceMicros', 'observedAtMs'],
  /** The clientOrderId (packName) of the order in the preceding orderPlaced. */
  orderNamed: ['orderId', 'userId', ...NAME_FIELDS],
  /** The user paid 1,000 micros a lot and the fee for `sizeLots` of each outcome. */
  setsSplit: ['marketId', 'userId', 'sizeLots', 'feeMicros'],
  /** `sizeLots` of each outcome, bought for `costMicros`, became money. */
  setsMerged: ['marketId', 'userId', 'sizeLots', 'costMicros'],
  /** The group of the order in the preceding orderPlaced. */
  orderGrouped: ['orderId', 'userId', 'groupId'],
  orderGroupCreated: ['groupId', 'userId', 'maxFilledLots', 'windowMs'],
  /** Fills in a window reached the group's maximum; its resting orders were cancelled. */
  orderGroupTripped: ['groupId', 'userId', 'filledLots'],
  orderGroupReset: ['groupId', 'userId'],
  orderGroupRemoved: ['groupId', 'userId'],
  /** A market is upcoming. A market may also open without being listed. */
  marketListed: ['marketId'],
  /** Money moves to another account of the family; transferredIn follows. */
  transferredOut: ['userId', 'toUserId', 'amountMicros'],
  transferredIn: ['userId', 'fromUserId', 'amountMicros'],
  autoClaimChanged: ['userId', 'enabled'],
  /** The settlement pays a maker its share of the fees of its trades in the market. */
  makerShareEarned: ['userId', 'marketId', 'amountMicros'],
  /** An operator multiplied the rate limits of a user and its sub-accounts. */
  rateTierChanged: ['userId', 'rateTier'],
} as const satisfies Record<string, readonly string[]>;

export type EventName = Exclude<keyof typeof EVENT_FIELDS, 'none'>;
export const EVENT_NAMES = Object.keys(EVENT_FIELDS) as (keyof typeof EVENT_FIELDS)[];

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

/** By event number: the event's length in entries, including its number. */
export const EVENT_LENGTHS: readonly number[] = EVENT_NAMES.map(
  (name) => EVENT_FIELDS[name].length + 1,
);

/** Reserves an event and writes its number; returns its place. The caller writes the fields. */
export function beginEvent(events: NumberBuffer, type: number): number {
  const at = events.reserve(EVENT_LENGTHS[type]!);
  events.values[at] = type;
  return at;
}

/** Writes `length` ASCII characters to the fields of orderNamed, padded with zeros. */
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

export function nameIn(event: Readonly<Record<(typeof NAME_FIELDS)[number], number>>): string {
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

export function decodeEvents(events: NumberBuffer): EventRecord[] {
  const records: EventRecord[] = [];
  let at = 0;
  while (at < events.length) {
    records.push(decodeEvent(events.values, at));
    at += EVENT_LENGTHS[events.values[at]!]!;
  }
  return records;
}

export function decodeEvent(values: ArrayLike<number>, at: number): EventRecord {
  const name = EVENT_NAMES[values[at]!];
  if (name === undefined || name === 'none')
    throw new Error(`no event has the number ${values[at]}`);
  const record: Record<string, number | string> = { type: name };
  const fields: readonly string[] = EVENT_FIELDS[name];
  for (let i = 0; i < fields.length; i++) record[fields[i]!] = values[at + 1 + i]!;
  return record as EventRecord;
}
