/**
 * The format of a part of the history: trades, orders, payments, balances, points, closed
 * positions, books, prices and markets, made from the journal alone.
 *
 * application_id 0x51485848 ("QHXH"), user_version 1. A part of a different version is not
 * converted: it is deleted and rebuilt from the journal.
 *
 *   run           the entries of all lists (LISTS)
 *   market        a row per market that changed in this part, as JSON ({@link MarketRecord})
 *   listLength    the lengths of the lists that are MEASURED, up to a run of this part (lengths.ts)
 *   progress      one row, JSON: the end of the last journal batch in the tables, and the number of
 *                 entries in the lists of each kind, and of markets, in this part and before it
 *
 * A sealed part (../parts/sealing.ts) has only `run`. Its runs are as long as RUN_ENTRIES allows,
 * and their entries are deflated (RFC 1951) where that makes them shorter. A part that was pruned
 * has only the lists that are KEPT.
 *
 * Entries of a list are numbered by ordinals from 1, oldest first. They are stored in runs, a row
 * each: up to RUN_ENTRIES consecutive entries of one list, written in one transaction. A run has
 * their number, the ordinal of the first, and `entries`: signed integers (bytes.ts), entry by
 * entry, column by column. An integer is the difference from the same column of the previous entry
 * in the run (from 0 in the first). For a column that may be negative it is the value itself: a
 * difference could exceed 2^53. The division into runs depends on the transactions; the entries do
 * not. Only the ordinals of orderEnd have gaps, because one counter numbers all orders.
 *
 * The table has a rowid, so rows are stored in the order of writing and only the index on their
 * keys is written in random places. Inserting rows of this length into a table WITHOUT ROWID takes
 * at least twice as long.
 *
 * `sequence` names the command that made an entry or last changed a market. `checksum` is CRC-32
 * over the table and all other columns of the row, so a damaged row is found when it is read.
 * Ordinals have no gaps and `progress` has the numbers of entries, so a missing row is found too.
 *
 * A transaction holds whole journal batches and the `progress` after them: no other state is ever
 * on disk.
 */
import { crc32 } from 'node:zlib';
import { EVENT_LENGTHS, EventType } from '../../../engine/interface/events.js';
import { offsetsOf } from '../../../engine/storage/number-buffer.js';

export const HISTORY_APPLICATION_ID = 0x51485848;
export const HISTORY_VERSION = 1;

/** The most entries in a run: a page may read that many more than it returns. */
export const RUN_ENTRIES = 256;

/** The entries of a statement after which the balance is stored. A power of two. */
export const BALANCE_ENTRIES = 64;

export interface ListLayout {
  readonly name: string;
  /** Its number in `run`. */
  readonly list: number;
  /** The user or the market whose list it is. */
  readonly key: string;
  readonly columns: readonly string[];
  /** The columns that may be negative. */
  readonly negatives: readonly string[];
}

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}`
  ? [First, ...Words<Rest>]
  : [Text];

/** @param columns separated by spaces. */
function layoutOf<Name extends string, Key extends string, Columns extends string>(
  name: Name,
  [list, key]: readonly [number, Key],
  columns: Columns,
  negatives: readonly Words<Columns>[number][] = [],
) {
  return { name, list, key, columns: columns.split(' ') as Words<Columns>, negatives };
}

/** The role of the arriving order in a trade. The maker's role is 1. */
export const TAKER = 0;

/**
 * A trade, for each of its users, at the price of the user's own outcome. userTrade, userHold,
 * userPayment and closedPosition are the lists of a statement: `number` counts their entries
 * together, from 1, in the order of the events.
 */
export const USER_TRADE = layoutOf(
  'userTrade',
  [1, 'userId'],
  'number tradeId orderId marketId role side outcome priceTicks sizeLots feeMicros profitMicros atMs sequence',
  ['profitMicros'],
);

export const MARKET_TRADE = layoutOf(
  'marketTrade',
  [2, 'marketId'],
  'tradeId matchType upTicks sizeLots takerSide takerOutcome atMs sequence',
);

export const POINTS_CREDIT = layoutOf(
  'pointsCredit',
  [3, 'userId'],
  'marketId reason microPoints atMs sequence',
);

/** Positions that a resolution closed: all fields of positionSettled but the user. */
export const CLOSED_POSITION = layoutOf(
  'closedPosition',
  [4, 'userId'],
  'number marketId resolution upLots downLots upCostMicros downCostMicros feesMicros payoutMicros refundMicros profitMicros atMs sequence',
  ['profitMicros'],
);

/**
 * An entry per order, as it was placed. Orders are placed in the order of their ids.
 * `amountMicros`: of an order that was placed for an amount, 0 else; groupId 0: none. Its name
 * fills the fields of orderNamed.
 */
export const USER_ORDER = layoutOf(
  'userOrder',
  [5, 'userId'],
  'orderId marketId side outcome priceTicks restingLots sizeLots status timeInForce postOnly selfTrade expiresAtMs amountMicros groupId name1 name2 name3 name4 name5 name6 name7 name8 name9 name10 name11 atMs sequence',
);

/** The money of its user that an order holds or, below 0, releases. Its trades are not included. */
export const USER_HOLD = layoutOf(
  'userHold',
  [6, 'userId'],
  'number orderId marketId heldMicros atMs sequence',
  ['heldMicros'],
);

/** After `number`, the event's number, and its fields in their order, then zeros. */
export const USER_PAYMENT = layoutOf(
  'userPayment',
  [7, 'userId'],
  'number type field1 field2 field3 field4 field5 field6 field7 atMs sequence',
);
export const PAYMENT_FIELDS = USER_PAYMENT.columns.slice(
  2,
  -2,
) as `field${1 | 2 | 3 | 4 | 5 | 6 | 7}`[];

/** The events in userPayment, by the field that names the user. */
export const USER_PAYMENTS = {
  deposited: 'userId',
  withdrawn: 'userId',
  transferredIn: 'userId',
  transferredOut: 'userId',
  setsSplit: 'userId',
  setsMerged: 'userId',
  claimed: 'userId',
  referralEarned: 'referrerId',
  makerShareEarned: 'userId',
  staked: 'userId',
  unstaked: 'userId',
  yieldClaimed: 'userId',
} as const;

for (const name of Object.keys(USER_PAYMENTS) as (keyof typeof USER_PAYMENTS)[])
  if (EVENT_LENGTHS[EventType[name]]! > 1 + PAYMENT_FIELDS.length)
    throw new Error(`the columns of userPayment do not hold ${name}`);

/**
 * The balance after some of the entries of a statement, and how many of each list there were: no
 * later than the first command after which another BALANCE_ENTRIES of them have been added.
 */
export const USER_BALANCE = layoutOf(
  'userBalance',
  [8, 'userId'],
  'trades holds payments positions availableMicros heldMicros atMs sequence',
);

/**
 * Orders that entered the book or were cancelled, as changes of a price level. bookSide 0: bids, 1:
 * asks of UP.
 */
export const MARKET_BOOK = layoutOf(
  'marketBook',
  [9, 'marketId'],
  'bookSide upTicks changeLots atMs sequence',
  ['changeLots'],
);

export const ASSET_PRICE = layoutOf(
  'assetPrice',
  [10, 'asset'],
  'priceMicros observedAtMs atMs sequence',
);

/** The orders whose ends are in one list. */
export const ORDERS_IN_BLOCK = 1_024;

/**
 * How orders ended that had rested, in lists of ORDERS_IN_BLOCK consecutive order numbers. If an
 * order has several entries, the last counts; those of its amendments are apart. `how`: a
 * CancelReason, or one of the numbers below; `leftLots`: the lots left of it, at `priceTicks`;
 * `filledLots`, with value and fee: what it had filled before it last entered the book or, if
 * ENDED_ANEW, in all.
 */
export const ORDER_END = layoutOf(
  'orderEnd',
  [11, 'orderBlock'],
  'orderId how leftLots priceTicks filledLots valueMicros feeMicros atMs',
);
/** It was amended, and leftLots are all that it was to fill from then on. */
export const AMENDED = 62;
export const FILLED_IN_BOOK = 63;
/** An amendment placed the order again, and the order did not rest. Add the OrderStatus. */
export const ENDED_ANEW = 64;

/** UP's price in half ticks, the asset's in micros; 0 if there is none yet (../markets.ts). */
export const MARKET_POINT = layoutOf(
  'marketPoint',
  [12, 'marketId'],
  'atMs upHalfTicks assetPriceMicros',
);

/**
 * The trades of a market in an interval of 5 s. All but the time, the value and the number of
 * trades are prices of UP, in ticks. An interval without a trade has none.
 */
export const MARKET_CANDLE = layoutOf(
  'marketCandle',
  [13, 'marketId'],
  'atMs open high low close valueMicros trades',
);
export type TradeCandle = Record<(typeof MARKET_CANDLE)['columns'][number], number>;

/** A market after its last event. */
export interface MarketRecord {
  marketId: number;
  status: number;
  resolution: number;
  startPriceMicros: number;
  /** 0 until resolved, and on VOID. */
  endPriceMicros: number;
  /** 0 until resolved. */
  resolvedAtMs: number;
  volumeMicros: number;
  openInterestLots: number;
  /** The price of UP; 0 if there is no trade. */
  lastTradeTicks: number;
  /** The lengths of its lists (MARKET_LISTS). */
  tradeCount: number;
  bookCount: number;
  pointCount: number;
  candleCount: number;
  /** The candle of its last trade. Later trades may change it, so it is not in the list. */
  candle: TradeCandle | null;
  /** 1: everything is paid out, and the engine has forgotten the market. */
  isClosed: number;
  /** The command that last changed it. */
  sequence: number;
}

export const LISTS = [
  USER_TRADE,
  MARKET_TRADE,
  POINTS_CREDIT,
  CLOSED_POSITION,
  USER_ORDER,
  USER_HOLD,
  USER_PAYMENT,
  USER_BALANCE,
  MARKET_BOOK,
  ASSET_PRICE,
  ORDER_END,
  MARKET_POINT,
  MARKET_CANDLE,
] as const;
export type ListName = (typeof LISTS)[number]['name'];

/** The lists of a market, by the field of its record that has their length. */
export const MARKET_LISTS = {
  tradeCount: MARKET_TRADE,
  bookCount: MARKET_BOOK,
  pointCount: MARKET_POINT,
  candleCount: MARKET_CANDLE,
} as const;

/**
 * The large lists, which may be pruned: how orders were placed and ended, and the markets' books.
 */
const PRUNABLE: readonly ListLayout[] = [USER_ORDER, ORDER_END, MARKET_BOOK];
export const KEPT: readonly ListLayout[] = LISTS.filter((layout) => !PRUNABLE.includes(layout));

/** The number of entries in all lists of each kind, and the number of markets. */
export const COUNTED = [...LISTS.map(({ name }) => name), 'market'] as const;
export type CountedName = (typeof COUNTED)[number];

export type EntryOf<Layout extends ListLayout> = Record<
  Layout['key'] | 'ordinal' | Layout['columns'][number],
  number
>;

/** The offset of each column from the start of its entry. */
export function columnsOf<Layout extends ListLayout>({
  columns,
}: Layout): Readonly<Record<Layout['columns'][number], number>> {
  return offsetsOf(columns);
}

export function negativesOf({
  columns,
  negatives,
}: Pick<ListLayout, 'columns' | 'negatives'>): boolean[] {
  return columns.map((column) => negatives.includes(column));
}

/** The entries come last, so that the other columns can be read without them. */
export const RUN_SQL = `CREATE TABLE run (
  list INTEGER NOT NULL,
  id INTEGER NOT NULL,
  firstOrdinal INTEGER NOT NULL,
  count INTEGER NOT NULL,
  deflated INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  entries BLOB NOT NULL,
  PRIMARY KEY (list, id, firstOrdinal)
) STRICT`;

/** A table of values by an integer key, each with a checksum. */
export interface ValueTable {
  readonly name: string;
  readonly key: string;
  readonly type: 'TEXT' | 'BLOB';
}

export const MARKET = { name: 'market', key: 'marketId', type: 'TEXT' } as const;
export const LIST_LENGTH = { name: 'listLength', key: 'list', type: 'BLOB' } as const;
export const PROGRESS = { name: 'progress', key: 'id', type: 'TEXT' } as const;

export function valuesSql({ name, key, type }: ValueTable): string {
  return `CREATE TABLE ${name} (${key} INTEGER PRIMARY KEY, value ${type} NOT NULL, checksum INTEGER NOT NULL) STRICT`;
}

/** The texts in sqlite_schema, in order. (The index on the keys of runs has none.) */
export const SCHEMA: readonly string[] = [
  RUN_SQL,
  ...[MARKET, LIST_LENGTH, PROGRESS].map(valuesSql),
];

/** @param head names the table and the other columns. */
export function checksumOf(head: string, rest: Uint8Array | string): number {
  // For zero bytes without an address, zlib returns a different checksum.
  return rest.length === 0 ? crc32(head) : crc32(rest, crc32(head));
}

export function runChecksum(
  list: number,
  { id, firstOrdinal, count, deflated }: Omit<RunHead, 'checksum'>,
  entries: Uint8Array,
): number {
  return checksumOf(`run ${list} ${id} ${firstOrdinal} ${count} ${deflated}`, entries);
}

/** The columns of a run without its entries. */
export interface RunHead {
  /** The user, the market, the asset or the block of orders whose list it is. */
  id: number;
  firstOrdinal: number;
  count: number;
  /** 1: the entries are deflated. */
  deflated: number;
  checksum: number;
}
