/**
 * Rows of history.db, each checked before it is used, and the codec of runs (format.ts).
 *
 * Always holds: what is read is what was written, or a {@link HistoryDamage} names the row. A value
 * that could not be read back is refused (RangeError) when it is written.
 */
import {
  ByteReader,
  type ByteWriter,
  INTEGER_BYTES,
  MalformedBytes,
  MORE,
  NEGATIVE,
} from '../storage/bytes.js';
import { fileProblem } from '../storage/sqlite-codes.js';
import {
  checksumOf,
  columnNames,
  type EntryOf,
  type ListLayout,
  pricesChecksum,
  type RowOf,
  RUN_ENTRIES,
  runChecksum,
  type TableLayout,
} from './format.js';

/** Damage to history.db. Nothing is lost: the history is rebuilt from the journal. */
export class HistoryDamage extends Error {
  override name = 'HistoryDamage';

  /** @param row or entry, as far as it is known, such as `userId 7, ordinal 12`. */
  constructor(
    readonly table: string,
    readonly row: string,
    readonly problem: string,
    cause?: unknown,
  ) {
    super(`history.db, table ${table}, ${row}: ${problem}`, { cause });
  }
}

const CHANGED = 'the row is not what was written';

/** An error of SQLite that shows damage, as HistoryDamage; any other error unchanged. */
export function asDamage(error: unknown): unknown {
  if (fileProblem(error) !== 'wrong') return error;
  return new HistoryDamage('(unknown)', '(unknown)', (error as Error).message, error);
}

/** A query of whole rows, without conditions. */
export function selectRows(layout: TableLayout): string {
  return `SELECT ${columnNames(layout).join(', ')} FROM ${layout.name}`;
}

/** @throws HistoryDamage when the row is not what was written. */
export function checkRow<Layout extends TableLayout>(layout: Layout, row: RowOf<Layout>): void {
  const values = Object.values<number>(row);
  const checksum = values.pop();
  // A damaged file may give fractions, texts and blobs, which the checksum ignores.
  if (values.every(Number.isSafeInteger) && checksumOf(layout.tag, values) === checksum) return;
  const place = `${layout.key} ${row[layout.key as Layout['key']]}`;
  throw new HistoryDamage(layout.name, place, CHANGED);
}

export interface PricesRow {
  marketId: number;
  points: Buffer;
  sequence: number;
  checksum: number;
}

/** The points of a row, copied. @throws HistoryDamage when the row is not what was written. */
export function pointsOf(row: PricesRow): Float64Array<ArrayBuffer> {
  const { marketId, points: bytes, sequence, checksum } = row;
  const isWhole = bytes.length % Float64Array.BYTES_PER_ELEMENT === 0;
  const points = isWhole ? new Float64Array(new Uint8Array(bytes).buffer) : null;
  if (points !== null && pricesChecksum(marketId, points, sequence) === checksum) return points;
  throw new HistoryDamage('marketPrices', `marketId ${marketId}`, CHANGED);
}

export interface RunRow {
  /** The user or the market whose list it is. */
  id: number;
  firstOrdinal: number;
  count: number;
  checksum: number;
  entries: Buffer;
}

/** A query of whole runs, without conditions. */
export function selectRuns({ name, key }: ListLayout): string {
  return `SELECT ${key} AS id, firstOrdinal, count, checksum, entries FROM ${name}`;
}

export class RunWriter {
  /** A bit for each column that is not written as a difference. */
  private readonly negatives: number;
  /** The previous entry; 0 in those columns. */
  private readonly previous: Float64Array;

  constructor(layout: ListLayout) {
    this.negatives = negativesOf(layout).reduce((bits, is, i) => bits | (Number(is) << i), 0);
    this.previous = new Float64Array(layout.columns.length);
  }

  begin(): void {
    this.previous.fill(0);
  }

  /** Writes the entry whose columns are in `values` from `at` on. */
  append(bytes: ByteWriter, values: Float64Array, at: number): void {
    const { previous, negatives } = this;
    const width = previous.length;
    bytes.reserve((width + 1) * INTEGER_BYTES);
    const { buffer } = bytes;
    let to = bytes.length;
    for (let column = 0; column < width; column++) {
      const value = values[at + column]!;
      const difference = value - previous[column]!;
      if (((negatives >>> column) & 1) === 0) previous[column] = value;
      const whole = difference | 0;
      // Most differences fit into 32 bits. This writes what ByteWriter.signed does.
      if (whole !== difference || Object.is(difference, -0)) {
        bytes.length = to;
        bytes.signed(difference);
        to = bytes.length;
        continue;
      }
      const sign = whole < 0 ? NEGATIVE : 0;
      const magnitude = (whole < 0 ? -whole : whole) >>> 0;
      if (magnitude < 64) {
        buffer[to++] = sign | magnitude;
        continue;
      }
      buffer[to++] = MORE | sign | (magnitude & 63);
      let rest = magnitude >>> 6;
      while (rest > 0x7f) {
        buffer[to++] = (rest & 0x7f) | MORE;
        rest >>>= 7;
      }
      buffer[to++] = rest;
    }
    bytes.length = to;
  }
}

/** The entries of a run, oldest first. @throws HistoryDamage when it is not what was written. */
export function readRun<Layout extends ListLayout>(layout: Layout, row: RunRow): EntryOf<Layout>[] {
  if (!isWritten(layout, row)) throw damagedRun(layout, row);
  try {
    return entriesOf(layout, row);
  } catch (error) {
    if (error instanceof MalformedBytes) throw damagedRun(layout, row, error);
    throw error;
  }
}

/** The types are checked first, as in {@link checkRow}. */
function isWritten({ tag }: ListLayout, row: RunRow): boolean {
  const { entries, checksum } = row;
  const numbers = [row.id, row.firstOrdinal, row.count];
  const isTyped = numbers.every(Number.isSafeInteger) && Buffer.isBuffer(entries);
  return isTyped && runChecksum(tag, numbers, entries) === checksum;
}

function entriesOf<Layout extends ListLayout>(layout: Layout, row: RunRow): EntryOf<Layout>[] {
  const { key, columns } = layout;
  const isNegative = negativesOf(layout);
  const previous = new Float64Array(columns.length);
  const reader = new ByteReader();
  reader.open(row.entries);
  const entries: Record<string, number>[] = [];
  for (let i = 0; i < row.count; i++) {
    const entry: Record<string, number> = { [key]: row.id, ordinal: row.firstOrdinal + i };
    for (let column = 0; column < columns.length; column++) {
      const value = previous[column]! + reader.signed();
      if (!isNegative[column]) previous[column] = value;
      entry[columns[column]!] = value;
    }
    entries.push(entry);
  }
  if (!reader.atEnd) throw reader.malformed('the run has more bytes than entries');
  return entries as EntryOf<Layout>[];
}

function negativesOf({ columns, negatives }: ListLayout): boolean[] {
  return columns.map((column) => negatives.includes(column));
}

function damagedRun({ name, key }: ListLayout, row: RunRow, cause?: unknown): HistoryDamage {
  const { id, firstOrdinal, count } = row;
  const isKnown = Number.isSafeInteger(firstOrdinal) && count >= 1 && count <= RUN_ENTRIES;
  const entries = isKnown
    ? `the entries from there to ordinal ${firstOrdinal + count - 1}`
    : 'the entries from there on';
  const problem = `${entries} are not what was written`;
  return new HistoryDamage(name, `${key} ${id}, ordinal ${firstOrdinal}`, problem, cause);
}
