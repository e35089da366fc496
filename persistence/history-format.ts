/**
 * The format of history.db: what happened and is over, in tables of integers, made from the journal and nothing else.
 *
 * application_id 0x51485848 ("QHXH"), user_version 1. A database of another version is not converted: it is deleted
 * and made again from the journal.
 *
 *   userTrade        one row per trade and side, the n-th trade of a user having the ordinal n
 *   marketTrade      one row per trade, the public tape, the n-th trade of a market having the ordinal n
 *   pointsCredit     points that a user got, the n-th of a user having the ordinal n
 *   closedPosition   positions that a resolution closed, the n-th of a user having the ordinal n
 *   market           every market that ever opened; replaced as it goes through its life
 *   marketPrices     its price history: 64-bit floats, little-endian, in triples of (time, UP's price in half ticks,
 *                    the asset's price in micros, 0: none yet)
 *   progress         one row: the end of the last journal batch that is in all of the above, and the number of rows
 *
 * `sequence` is that of the command that made the row, or changed it last. `checksum` is over the table and all other
 * columns of the row: a row that is not what was written is found when it is read. Ordinals have no gaps, so a row
 * that is missing is found too, and the numbers in `progress` must be those of the tables.
 *
 * A transaction holds whole journal batches and the `progress` that they lead to: there is no state in between.
 */
export const HISTORY_FILE = 'history.db';
export const HISTORY_APPLICATION_ID = 0x51485848;
export const HISTORY_VERSION = 1;

/** A table of integers. Keys come first; `sequence` and `checksum` follow the columns. */
export interface TableLayout {
  readonly name: string;
  /** Goes into the checksums, so that a row in the wrong table is found. */
  readonly tag: number;
  readonly keys: readonly string[];
  readonly columns: readonly string[];
}

export const USER_TRADE = {
  name: 'userTrade',
  tag: 1,
  keys: ['userId', 'ordinal'],
  columns: [
    'tradeId',
    'orderId',
    'marketId',
    /** 0: taker, 1: maker. */
    'role',
    'side',
    'outcome',
    /** Of the user's own outcome. */
    'priceTicks',
    'sizeLots',
    'feeMicros',
    'profitMicros',
    'atMs',
  ],
} as const satisfies TableLayout;

export const MARKET_TRADE = {
  name: 'marketTrade',
  tag: 2,
  keys: ['marketId', 'ordinal'],
  columns: ['tradeId', 'matchType', 'upTicks', 'sizeLots', 'takerSide', 'takerOutcome', 'atMs'],
} as const satisfies TableLayout;

export const POINTS_CREDIT = {
  name: 'pointsCredit',
  tag: 3,
  keys: ['userId', 'ordinal'],
  columns: ['marketId', 'reason', 'microPoints', 'atMs'],
} as const satisfies TableLayout;

export const CLOSED_POSITION = {
  name: 'closedPosition',
  tag: 4,
  keys: ['userId', 'ordinal'],
  columns: [
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
    'atMs',
  ],
} as const satisfies TableLayout;

export const MARKET = {
  name: 'market',
  tag: 5,
  keys: ['marketId'],
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
    /** Of UP; 0: no trade. */
    'lastTradeTicks',
    'tradeCount',
    /** How the fees were shared. */
    'vaultMicros',
    'referrersMicros',
    'treasuryMicros',
    /** 1: all is paid, the engine has forgotten it. */
    'isClosed',
  ],
} as const satisfies TableLayout;

export const TABLES = [USER_TRADE, MARKET_TRADE, POINTS_CREDIT, CLOSED_POSITION, MARKET] as const;
export type TableName = (typeof TABLES)[number]['name'];

const MARKET_PRICES_TAG = 6;
export const PROGRESS_TAG = 7;

/** A row as a query gives it. */
export type RowOf<Layout extends TableLayout> = Record<
  Layout['keys'][number] | Layout['columns'][number] | 'sequence' | 'checksum',
  number
>;

/** Keys, columns, sequence, checksum: the order in which values stand in records and in queries. */
export function columnNames(layout: TableLayout): string[] {
  return [...layout.keys, ...layout.columns, 'sequence', 'checksum'];
}

const MARKET_PRICES_SQL = `CREATE TABLE marketPrices (
  marketId INTEGER PRIMARY KEY,
  points BLOB NOT NULL,
  sequence INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) STRICT`;

const PROGRESS_SQL = `CREATE TABLE progress (
  id INTEGER PRIMARY KEY,
  sequence INTEGER NOT NULL,
  hash BLOB NOT NULL,
  ${TABLES.map(({ name }) => `${name}Rows INTEGER NOT NULL`).join(', ')},
  checksum INTEGER NOT NULL
) STRICT`;

/** What sqlite_schema holds, in this order. */
export const SCHEMA: readonly string[] = [...TABLES.map(tableSql), MARKET_PRICES_SQL, PROGRESS_SQL];

function tableSql(layout: TableLayout): string {
  const columns = columnNames(layout).map((name) => `${name} INTEGER NOT NULL`);
  return `CREATE TABLE ${layout.name} (${columns.join(', ')}, PRIMARY KEY (${layout.keys.join(', ')})) STRICT, WITHOUT ROWID`;
}

/**
 * One more value in a checksum. Each step maps checksums one to one, and values too: a change of one value, or of two
 * that are exchanged, can not come out the same by itself.
 */
export function addToChecksum(checksum: number, value: number): number {
  const low = Math.imul(((checksum << 13) | (checksum >>> 19)) ^ value, 0xcc9e2d51);
  return Math.imul(((low << 17) | (low >>> 15)) ^ Math.floor(value / 4_294_967_296), 0x1b873593);
}

export function startChecksum(tag: number): number {
  return Math.imul(tag, 0x9e3779b1);
}

/** As it stands in the database: 0 to 2^32 - 1. */
export function finishChecksum(checksum: number): number {
  return (checksum ^ (checksum >>> 15)) >>> 0;
}

export function checksumOf(tag: number, values: Iterable<number>): number {
  let checksum = startChecksum(tag);
  for (const value of values) checksum = addToChecksum(checksum, value);
  return finishChecksum(checksum);
}

/** Of a row of marketPrices, over the very bits of the points. */
export function pricesChecksum(marketId: number, points: Float64Array, sequence: number): number {
  let checksum = startChecksum(MARKET_PRICES_TAG);
  checksum = addToChecksum(checksum, marketId);
  checksum = addToChecksum(checksum, sequence);
  const words = new Uint32Array(points.buffer, points.byteOffset, points.length * 2);
  for (let i = 0; i < words.length; i++) checksum = addToChecksum(checksum, words[i]!);
  return finishChecksum(checksum);
}
