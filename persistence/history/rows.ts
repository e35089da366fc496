/**
 * Rows of values in the history, each checked before it is used.
 *
 * Invariant: a row is read as it was written, or a {@link HistoryDamage} names it.
 */
import type sqlite3 from 'sqlite3';
import { query } from '../storage/sqlite.js';
import { fileProblem } from '../storage/sqlite-codes.js';
import { checksumOf, type ValueTable } from './runs/format.js';

/** Damage to a file of the history. Nothing is lost: it is rebuilt from the journal. */
export class HistoryDamage extends Error {
  override name = 'HistoryDamage';
  /** The part that is damaged; null if it is the catalogue, or is not known. */
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

/** An error of SQLite that shows damage, as HistoryDamage; any other error unchanged. */
export function asDamage(error: unknown, part: number | null): unknown {
  if (error instanceof HistoryDamage && error.part === null) return error.in(part);
  if (fileProblem(error) !== 'wrong') return error;
  return new HistoryDamage('(unknown)', '(unknown)', (error as Error).message, error).in(part);
}

export interface ValueRow<Value extends string | Buffer> {
  key: number;
  value: Value;
  checksum: number;
}

export function selectValues({ name, key }: ValueTable): string {
  return `SELECT ${key} AS key, value, checksum FROM ${name}`;
}

/** Adds or replaces a row. */
export async function putValue(
  database: sqlite3.Database,
  table: ValueTable,
  key: number,
  value: string | Buffer,
): Promise<void> {
  const checksum = checksumOf(`${table.name} ${key}`, value);
  await query(database, `REPLACE INTO ${table.name} VALUES (?, ?, ?)`, [key, value, checksum]);
}

/** @throws HistoryDamage when the row is missing, or not what was written. */
export function checkedValue<Value extends string | Buffer>(
  { name, key: column, type }: ValueTable,
  row: ValueRow<Value> | undefined,
  wanted?: number,
): Value {
  const key = row?.key ?? wanted;
  const place = `${column} ${key}`;
  if (row === undefined) throw new HistoryDamage(name, place, 'it is missing');
  const { value, checksum } = row;
  // A damaged file may give a value of the wrong type.
  const isTyped = type === 'TEXT' ? typeof value === 'string' : Buffer.isBuffer(value);
  if (isTyped && checksumOf(`${name} ${key}`, value) === checksum) return value;
  throw new HistoryDamage(name, place, 'the row does not match its checksum');
}
