/**
 * The format of a part of the history: trades, orders, payments, balances, points, closed
 * positions, books, prices and markets, made from the journal alone.
 *
 * application_id 0x51485848 ("QHXH"), user_version 1. A part of another version is not converted:
 * it is deleted and rebuilt from the journal.
 *
 *   userTrade        the list of each user's trades, an entry per trade and side
 *   marketTrade      the list of each market's public trades
 *   pointsCredit     the list of each user's points
 *   closedPosition   the list of each user's positions that a resolution closed
 *   userEvent        the list of each user's other events, as the engine wrote them (events.ts):
 *                    what became of orders, deposits, claims, stakes, …
 *   userBalance      for each user, the balance after some of the entries in userTrade, userEvent
 *                    and closedPosition together: no later than the first command after which
 *                    another BALANCE_ENTRIES of them have been added
 *   marketBook       the list of each market's orders that came to rest or were cancelled, as
 *                    changes of a price level
 *   assetPrice       the list of each asset's prices, as they arrived
 *   orderEnd         how orders ended that had rested, in lists of ORDERS_IN_BLOCK consecutive
 *                    order numbers. If an order has several entries, the last counts
 *   amendedOrder     a row per order that was amended: the total lots it was to fill, in the end
 *   market           a row per market that changed in this part, replaced as the market changes
 *   marketPrices     the price history of a market: 64-bit floats, little-endian, in triples of
 *                    (time, UP's price in half ticks, the asset's price in micros, 0: none yet)
 *   listLength       the lengths of the users' lists and of orderEnd and assetPrice, up to some run
 *                    (lengths.ts): 32-bit integers, little-endian, in chunks of consecutive ids
 *   progress         one row: the end of the last journal batch in the tables, and the number of
 *                    entries in the lists of each kind, and of markets, in this part and before it
 *
 * A sealed part (../parts/sealing.ts) has only the lists and amendedOrder. Each list's runs are as
 * long as RUN_ENTRIES allows, and their entries are deflated (RFC 1951) where that makes them
 * shorter: the checksum, which is over the bytes as stored, is then DEFLATED more.
 *
 * Entries of userTrade, userEvent and closedPosition also have a number among all of their user's
 * entries in these three lists, from 1, in the order of the events.
 *
 * Entries of a list are numbered by ordinals from 1, oldest first. They are stored in runs, a row
 * each: up to RUN_ENTRIES consecutive entries of one list, written in one transaction. A run has
 * their number, the ordinal of the first, and `entries`: signed integers (bytes.ts), entry by
 * entry, column by column. An integer is the difference from the same column of the previous entry
 * in the run (from 0 in the first); in columns that may be negative it is the value itself, so that
 * every difference is exact. The division into runs depends on the transactions; the entries do
 * not.
 *
 * Tables of runs have a rowid, so rows are stored in the order of writing and only the index on
 * their keys is written in random places. Rows of this length take at least twice as long to insert
 * into a table WITHOUT ROWID.
 *
 * `sequence` names the command that made an entry or last changed a row. `checksum` is over
 * the table and all other columns of the row, so a damaged row is found when it is read. Ordinals
 * have no gaps and `progress` has the numbers of entries, so a missing row is found too.
 *
 * A transaction holds whole journal batches and the `progress` after them: no other state is ever
 * on disk.
 */
import { crc32 } from 'node:zlib';
import { EVENT_FIELDS, EVENT_LENGTHS, EventType } from '../../../engine/interface/events.js';
import { offsetsOf } from '../../../engine/storage/number-buffer.js';

export const HISTORY_APPLICATION_ID = 0x51485848;
export const HISTORY_VERSION = 1;

/** Added to the checksum of a run whose entries are stored deflated. */
export const DEFLATED = 2 ** 32;

/** The most entries in a run: a page may read that many more than it returns. */
export const RUN_ENTRIES = 256;

/** The entries of an account after which its balance is stored. A power of two. */
export const BALANCE_ENTRIES = 64;

export interface ListLayout {
  readonly name: string;
  /** Part of the checksums, so that a row in the wrong table is found. */
  readonly tag: number;
  /** The user or the market whose list it is. */
  readonly key: string;
  readonly columns: readonly string[];
  /** The columns that may be negative. */
  readonly negatives: readonly string[];
}

/** A table of integers. `sequence` and `checksum` follow the columns. */
export interface TableLayout {
  readonly name: string;
  readonly tag: number;
  readonly key: string;
  readonly columns: readonly string[];
}

/** The role of the side of a trade that met the other in the book; the maker's is 1. */
export const TAKER = 0;

export const USER_TRADE = {
  name: 'userTrade',
  tag: 1,
  key: 'userId',
  columns: [
    'number',
    'tradeId',
    'orderId',
    'marketId',
    'role',
    'side',
    'outcome',
    /** The price of the user's own outcome. */
    'priceTicks',
    'sizeLots',
    'feeMicros',
    'profitMicros',
    'atMs',
    'sequence',
  ],
  negatives: ['profitMicros'],
} as const satisfies ListLayout;

export const MARKET_TRADE = {
  name: 'marketTrade',
  tag: 2,
  key: 'marketId',
  columns: [
    'tradeId',
    'matchType',
    'upTicks',
    'sizeLots',
    'takerSide',
    'takerOutcome',
    'atMs',
    'sequence',
  ],
  negatives: [],
} as const satisfies ListLayout;

export const POINTS_CREDIT = {
  name: 'pointsCredit',
  tag: 3,
  key: 'userId',
  columns: ['marketId', 'reason', 'microPoints', 'atMs', 'sequence'],
  negatives: [],
} as const satisfies ListLayout;

/** All fields of the event but the user, which comes first. */
const [, ...POSITION_FIELDS] = EVENT_FIELDS.positionSettled;

export const CLOSED_POSITION = {
  name: 'closedPosition',
  tag: 4,
  key: 'userId',
  columns: ['number', ...POSITION_FIELDS, 'atMs', 'sequence'],
  negatives: ['profitMicros'],
} as const satisfies ListLayout;

/** The events in userEvent, by the field that names the user. */
export const USER_EVENTS = {
  deposited: 'userId',
  withdrawn: 'userId',
  transferredIn: 'userId',
  transferredOut: 'userId',
  orderPlaced: 'userId',
  orderNamed: 'userId',
  orderGrouped: 'userId',
  orderCancelled: 'userId',
  orderAmended: 'userId',
  setsSplit: 'userId',
  setsMerged: 'userId',
  claimed: 'userId',
  referralEarned: 'referrerId',
  staked: 'userId',
  unstaked: 'userId',
  yieldClaimed: 'userId',
} as const;

export const USER_EVENT_FIELDS = [
  'field1',
  'field2',
  'field3',
  'field4',
  'field5',
  'field6',
  'field7',
  'field8',
  'field9',
  'field10',
  'field11',
  'field12',
  'field13',
  'field14',
] as const;

export const USER_EVENT = {
  name: 'userEvent',
  tag: 8,
  key: 'userId',
  columns: [
    'number',
    /** The event's number, and its fields in their order, then zeros. */
    'type',
    ...USER_EVENT_FIELDS,
    /** Of an order that was placed for an amount; 0 else. */
    'amountMicros',
    'atMs',
    'sequence',
  ],
  negatives: [],
} as const satisfies ListLayout;

for (const name of Object.keys(USER_EVENTS) as (keyof typeof USER_EVENTS)[])
  if (EVENT_LENGTHS[EventType[name]]! > 1 + USER_EVENT_FIELDS.length)
    throw new Error(`the columns of userEvent do not hold ${name}`);

export const USER_BALANCE = {
  name: 'userBalance',
  tag: 9,
  key: 'userId',
  columns: [
    /** The entries so far in the user's other lists. */
    'trades',
    'events',
    'positions',
    'availableMicros',
    'heldMicros',
    'atMs',
    'sequence',
  ],
  negatives: [],
} as const satisfies ListLayout;

export const MARKET_BOOK = {
  name: 'marketBook',
  tag: 11,
  key: 'marketId',
  columns: [
    /** 0: bids, 1: asks of UP. */
    'bookSide',
    'upTicks',
    'changeLots',
    'atMs',
    'sequence',
  ],
  negatives: ['changeLots'],
} as const satisfies ListLayout;

export const ASSET_PRICE = {
  name: 'assetPrice',
  tag: 12,
  key: 'asset',
  columns: ['priceMicros', 'observedAtMs', 'atMs', 'sequence'],
  negatives: [],
} as const satisfies ListLayout;

/** The orders whose ends are in one list. */
export const ORDERS_IN_BLOCK = 1_024;

export const ORDER_END = {
  name: 'orderEnd',
  tag: 13,
  key: 'orderBlock',
  columns: [
    'orderId',
    /** A CancelReason; FILLED_IN_BOOK; or ENDED_ANEW plus the OrderStatus. */
    'how',
    /** What was left of it, and where. */
    'leftLots',
    'priceTicks',
    /** What it had filled before it last came to rest; ENDED_ANEW: all. */
    'filledLots',
    'valueMicros',
    'feeMicros',
    'atMs',
  ],
  negatives: [],
} as const satisfies ListLayout;

export const FILLED_IN_BOOK = 63;
/** It was amended, placed anew, and did not come to rest. */
export const ENDED_ANEW = 64;

export const AMENDED_ORDER = {
  name: 'amendedOrder',
  tag: 14,
  key: 'orderId',
  columns: ['originalLots'],
} as const satisfies TableLayout;

export const MARKET = {
  name: 'market',
  tag: 5,
  key: 'marketId',
  columns: [
    /** The market of the same asset before this one, 0: none. */
    'previousId',
    'status',
    'resolution',
    'openedAtMs',
    'startPriceMicros',
    /** 0 until resolved, and on VOID. */
    'endPriceMicros',
    /** 0 until resolved. */
    'resolvedAtMs',
    'volumeMicros',
    'openInterestLots',
    /** The price of UP; 0: no trade. */
    'lastTradeTicks',
    'tradeCount',
    /** Entries in marketBook. */
    'bookCount',
    /** How the fees were shared. */
    'vaultMicros',
    'referrersMicros',
    'treasuryMicros',
    /** 1: everything is paid out, and the engine has forgotten the market. */
    'isClosed',
  ],
} as const satisfies TableLayout;

/** As of its last event; `MARKET` says what zeros mean. */
export type MarketRecord = Omit<RowOf<typeof MARKET>, 'checksum'>;

export const LISTS = [
  USER_TRADE,
  MARKET_TRADE,
  POINTS_CREDIT,
  CLOSED_POSITION,
  USER_EVENT,
  USER_BALANCE,
  MARKET_BOOK,
  ASSET_PRICE,
  ORDER_END,
] as const;
export type ListName = (typeof LISTS)[number]['name'];

export const COUNTED = [...LISTS, MARKET] as const;
export type CountedName = (typeof COUNTED)[number]['name'];

const MARKET_PRICES_TAG = 6;
export const PROGRESS_TAG = 7;
const LIST_LENGTH_TAG = 10;
const KEYED_RESULT_TAG = 15;

export type EntryOf<Layout extends ListLayout> = Record<
  Layout['key'] | 'ordinal' | Layout['columns'][number],
  number
>;

/** A row of a table of integers, as a query gives it. */
export type RowOf<Layout extends TableLayout> = Record<
  Layout['key'] | Layout['columns'][number] | 'sequence' | 'checksum',
  number
>;

/** The offset of each column from the start of its entry. */
export function columnsOf<Layout extends ListLayout>({
  columns,
}: Layout): Readonly<Record<Layout['columns'][number], number>> {
  return offsetsOf(columns);
}

export function negativesOf({ columns, negatives }: ListLayout): boolean[] {
  return columns.map((column) => negatives.includes(column));
}

/** Key, columns, sequence, checksum: the order of values in records and in queries. */
export function columnNames(layout: TableLayout): string[] {
  return [layout.key, ...layout.columns, 'sequence', 'checksum'];
}

export const MARKET_PRICES_SQL = `CREATE TABLE marketPrices (
  marketId INTEGER PRIMARY KEY,
  points BLOB NOT NULL,
  sequence INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) STRICT`;

/** A table of the catalogue. `sequence`: of the first command in the row. */
export const KEYED_RESULT_SQL = `CREATE TABLE keyedResult (
  sequence INTEGER PRIMARY KEY,
  results BLOB NOT NULL,
  checksum INTEGER NOT NULL
) STRICT`;

export const LIST_LENGTH_SQL = `CREATE TABLE listLength (
  tag INTEGER NOT NULL,
  chunk INTEGER NOT NULL,
  counts BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (tag, chunk)
) STRICT`;

const PROGRESS_SQL = `CREATE TABLE progress (
  id INTEGER PRIMARY KEY,
  sequence INTEGER NOT NULL,
  hash BLOB NOT NULL,
  atMs INTEGER NOT NULL,
  ${COUNTED.map(({ name }) => `${name}Count INTEGER NOT NULL`).join(', ')},
  checksum INTEGER NOT NULL
) STRICT`;

/** The tables of a sealed part. */
export const SEALED_SCHEMA: readonly string[] = [...LISTS.map(runsSql), tableSql(AMENDED_ORDER)];

/** The texts in sqlite_schema, in order. (The indexes on the keys of runs have none.) */
export const SCHEMA: readonly string[] = [
  ...SEALED_SCHEMA,
  tableSql(MARKET),
  MARKET_PRICES_SQL,
  LIST_LENGTH_SQL,
  PROGRESS_SQL,
];

export function tableSql(layout: TableLayout): string {
  const columns = columnNames(layout).map((name) => `${name} INTEGER NOT NULL`);
  return `CREATE TABLE ${layout.name} (${columns.join(', ')}, PRIMARY KEY (${layout.key})) STRICT, WITHOUT ROWID`;
}

/** The entries come last, so that the other columns can be read without them. */
function runsSql({ name, key }: ListLayout): string {
  return `CREATE TABLE ${name} (
  ${key} INTEGER NOT NULL,
  firstOrdinal INTEGER NOT NULL,
  count INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  entries BLOB NOT NULL,
  PRIMARY KEY (${key}, firstOrdinal)
) STRICT`;
}

/**
 * Adds a value to a checksum. Each step is a bijection in the checksum and in either half of the
 * value, so a change to one half of a value always changes the checksum.
 */
export function addToChecksum(checksum: number, value: number): number {
  const low = Math.imul(((checksum << 13) | (checksum >>> 19)) ^ value, 0xcc9e2d51);
  return Math.imul(((low << 17) | (low >>> 15)) ^ Math.floor(value / 4_294_967_296), 0x1b873593);
}

export function startChecksum(tag: number): number {
  return Math.imul(tag, 0x9e3779b1);
}

export function finishChecksum(checksum: number): number {
  return (checksum ^ (checksum >>> 15)) >>> 0;
}

export function checksumOf(tag: number, values: Iterable<number>): number {
  let checksum = startChecksum(tag);
  for (const value of values) checksum = addToChecksum(checksum, value);
  return finishChecksum(checksum);
}

export function runChecksum(tag: number, numbers: readonly number[], entries: Uint8Array): number {
  return crc32(entries, checksumOf(tag, numbers));
}

export function keyedResultChecksum(sequence: number, results: Uint8Array): number {
  return crc32(results, checksumOf(KEYED_RESULT_TAG, [sequence]));
}

export function lengthsChecksum(tag: number, chunk: number, counts: Uint8Array): number {
  return crc32(counts, checksumOf(LIST_LENGTH_TAG, [tag, chunk]));
}

/** Over a row of marketPrices, bit by bit. */
export function pricesChecksum(marketId: number, points: Float64Array, sequence: number): number {
  let checksum = startChecksum(MARKET_PRICES_TAG);
  checksum = addToChecksum(checksum, marketId);
  checksum = addToChecksum(checksum, sequence);
  const words = new Uint32Array(points.buffer, points.byteOffset, points.length * 2);
  for (let i = 0; i < words.length; i++) checksum = addToChecksum(checksum, words[i]!);
  return finishChecksum(checksum);
}
