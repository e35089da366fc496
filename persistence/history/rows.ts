/**
 * Rows of markets and prices in the history, each checked before it is used.
 *
 * Always holds: what is read is what was written, or a {@link HistoryDamage} names the row.
 */
import { fileProblem } from '../storage/sqlite-codes.js';
import {
  checksumOf,
  columnNames,
  pricesChecksum,
  type RowOf,
  type TableLayout,
} from './runs/format.js';

/** Damage to a file of the history. Nothing is lost: it is rebuilt from the journal. */
export class HistoryDamage extends Error {
  override name = 'HistoryDamage';
  /** The part that is damaged; null: the catalogue, or it is not known. */
  part: number | null = null;

  /** @param row or entry, as far as it is known, such as `userId 7, ordinal 12`. */
  constructor(
    readonly table: string,
    readonly row: string,
    readonly problem: string,
    cause?: unknown,
  ) {
    super(`history, table ${table}, ${row}: ${problem}`, { cause });
  }

  in(part: number | null): this {
    this.part = part;
    return this;
  }
}

const CHANGED = 'the row is not what was written';

/** An error of SQLite that shows damage, as HistoryDamage; any other error unchanged. */
export function asDamage(error: unknown, part: number | null): unknown {
  if (error instanceof HistoryDamage && error.part === null) return error.in(part);
  if (fileProblem(error) !== 'wrong') return error;
  return new HistoryDamage('(unknown)', '(unknown)', (error as Error).message, error).in(part);
}

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
