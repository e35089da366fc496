/** Rows of market and marketPrices as queries give them, each checked against its checksum before anything is made of it. */
import { HistoryDamage } from './damage.js';
import { checksumOf, columnNames, pricesChecksum, type RowOf, type TableLayout } from './format.js';

/** A query of whole rows, up to its conditions. */
export function selectSql(layout: TableLayout): string {
  return `SELECT ${columnNames(layout).join(', ')} FROM ${layout.name}`;
}

/** @throws HistoryDamage when the row is not what was written. */
export function checkRow<Layout extends TableLayout>(layout: Layout, row: RowOf<Layout>): void {
  const values = Object.values<number>(row);
  const checksum = values.pop();
  // A damaged file may give fractions, texts and blobs, which a checksum of integers does not tell apart.
  if (values.every(Number.isSafeInteger) && checksumOf(layout.tag, values) === checksum) return;
  const { name, key } = layout;
  throw new HistoryDamage(name, `${key} ${row[key as Layout['key']]}`, 'the row is not what was written');
}

/** A row of marketPrices. */
export interface PricesRecord {
  marketId: number;
  points: Buffer;
  sequence: number;
  checksum: number;
}

/** The points of a row, copied. @throws HistoryDamage when the row is not what was written. */
export function pointsOf({
  marketId,
  points: bytes,
  sequence,
  checksum,
}: PricesRecord): Float64Array<ArrayBuffer> {
  const isWhole = bytes.length % Float64Array.BYTES_PER_ELEMENT === 0;
  const points = isWhole ? new Float64Array(new Uint8Array(bytes).buffer) : null;
  if (points !== null && pricesChecksum(marketId, points, sequence) === checksum) return points;
  throw new HistoryDamage('marketPrices', `marketId ${marketId}`, 'the row is not what was written');
}
