/**
 * What happened: the events of one command, in order, on a tape. An event is its number (EVENTS[name].type)
 * followed by its fields, all integers in engine units, in the order that the table below gives.
 *
 * Events say everything that a follower needs to keep history and a stream needs to tell a client; money and
 * shares that change hands are all in them.
 */
import type { NumberBuffer } from '../storage/number-buffer.js';

/** name → fields. The position in this table is the event's number on the tape. */
export const EVENT_FIELDS = {
  /** Never written: number 0. */
  none: [],
  assetListed: ['asset'],
  priceObserved: ['asset', 'priceMicros', 'observedAtMs'],
  /** A market opens. Its start price may still move once, until 2 s after the window's start. */
  marketOpened: ['marketId', 'startPriceMicros'],
  startPriceFixed: ['marketId', 'startPriceMicros'],
  marketEnded: ['marketId'],
  /** endPriceMicros is 0 when VOID. */
  marketResolved: ['marketId', 'resolution', 'endPriceMicros'],
  /** The fees of a market are shared out; on VOID all three are 0 and the fees wait to be refunded. */
  feesShared: ['marketId', 'vaultMicros', 'referrersMicros', 'treasuryMicros'],
  /** All is paid; the engine forgets the market. */
  marketClosed: ['marketId'],
  /** referrerId 0: none. `partner` is the number of the one who registered the user (partners.ts), 0: nobody. */
  userRegistered: ['userId', 'referrerId', 'partner'],
  credentialSet: ['userId', 'version'],
  deposited: ['userId', 'source', 'amountMicros'],
  withdrawn: ['userId', 'amountMicros'],
  /** An order rests in the book, with what was left of it. */
  orderRested: ['orderId', 'marketId', 'userId', 'side', 'outcome', 'priceTicks', 'sizeLots'],
  orderCancelled: ['orderId', 'marketId', 'userId', 'side', 'outcome', 'priceTicks', 'sizeLots', 'reason'],
  /**
   * Two orders meet at the maker's price. `upTicks` is the price of UP; DOWN's is 1000 - upTicks. `feeMicros` is
   * this trade's part of the taker's fee. The profits are what the trade realised for each side: for a sale,
   * value less cost, and for the taker less the fee.
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
   * A position is closed by resolution. `payoutMicros` becomes claimable (0 for losers), `refundMicros` too (fees, on
   * VOID only). `profitMicros` is payout plus refund less cost. Points are in millionths.
   */
  positionSettled: [
    'marketId',
    'userId',
    'upLots',
    'downLots',
    'upCostMicros',
    'downCostMicros',
    'feesMicros',
    'payoutMicros',
    'refundMicros',
    'profitMicros',
  ],
  /** `automatic` 1: paid because nobody claimed in time. */
  claimed: ['marketId', 'userId', 'lots', 'payoutMicros', 'refundMicros', 'automatic'],
  pointsCredited: ['userId', 'marketId', 'reason', 'microPoints'],
  referralEarned: ['referrerId', 'userId', 'marketId', 'amountMicros'],
  staked: ['depositId', 'userId', 'amountMicros', 'earnsFromMs'],
  unstaked: ['depositId', 'userId', 'amountMicros', 'yieldMicros'],
  yieldClaimed: ['depositId', 'userId', 'yieldMicros'],
  /** Money of the vault that belongs to no deposit goes to the treasury. */
  vaultRemainder: ['amountMicros'],
  referralCodeSet: ['userId'],
} as const satisfies Record<string, readonly string[]>;

export type EventName = Exclude<keyof typeof EVENT_FIELDS, 'none'>;
export const EVENT_NAMES = Object.keys(EVENT_FIELDS) as (keyof typeof EVENT_FIELDS)[];

/** EventType.trade, …: the number of each event on the tape. */
export const EventType = Object.freeze(
  Object.fromEntries(EVENT_NAMES.map((name, index) => [name, index])) as {
    readonly [K in keyof typeof EVENT_FIELDS]: number;
  },
);

/** Where each field of an event stands on the tape, counted from its number: EventSlot.trade.tradeId is 1. */
export const EventSlot = Object.freeze(
  Object.fromEntries(
    EVENT_NAMES.map((name) => [
      name,
      Object.freeze(Object.fromEntries(EVENT_FIELDS[name].map((field, index) => [field, index + 1]))),
    ]),
  ) as {
    readonly [Name in keyof typeof EVENT_FIELDS]: Readonly<
      Record<(typeof EVENT_FIELDS)[Name][number], number>
    >;
  },
);

/** Entries that each event takes on the tape, its number included. */
export const EVENT_LENGTHS: readonly number[] = EVENT_NAMES.map((name) => EVENT_FIELDS[name].length + 1);

/** One event as an object, for readers that are not in a hurry. */
export type EventRecord<K extends EventName = EventName> = {
  [Name in K]: { type: Name } & Record<(typeof EVENT_FIELDS)[Name][number], number>;
}[K];

/** The events on a tape, in order. */
export function decodeEvents(tape: NumberBuffer): EventRecord[] {
  const records: EventRecord[] = [];
  let at = 0;
  while (at < tape.length) {
    const type = tape.values[at]!;
    const name = EVENT_NAMES[type];
    if (name === undefined || name === 'none') throw new Error(`no event has the number ${type}`);
    const record: Record<string, number | string> = { type: name };
    const fields: readonly string[] = EVENT_FIELDS[name];
    for (let i = 0; i < fields.length; i++) record[fields[i]!] = tape.values[at + 1 + i]!;
    records.push(record as EventRecord);
    at += EVENT_LENGTHS[type]!;
  }
  return records;
}
