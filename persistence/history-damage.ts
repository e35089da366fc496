/**
 * What is wrong with history.db. Nothing is lost by it: the history is made again from the journal.
 */
import sqlite3 from 'sqlite3';

export class HistoryDamage extends Error {
  override name = 'HistoryDamage';
  readonly table: string;
  /** Which row, or which entry of a list, as far as that is known: `userId 7, ordinal 12`. */
  readonly row: string;
  /** What is wrong with it. */
  readonly problem: string;

  constructor(table: string, row: string, what: string, cause?: unknown) {
    super(`history.db, table ${table}, ${row}: ${what}`, cause === undefined ? undefined : { cause });
    this.table = table;
    this.row = row;
    this.problem = what;
  }
}

/** SQLite's ways of saying that a file is not what SQLite wrote, or that a table is not the one that was made. */
const DAMAGED = [
  sqlite3.CORRUPT,
  sqlite3.NOTADB,
  sqlite3.FORMAT,
  sqlite3.ERROR,
  sqlite3.MISMATCH,
  sqlite3.CONSTRAINT,
];

/** An error of SQLite, as damage if that is what it says; as it is when it says something else (a full disk). */
export function asDamage(error: unknown): unknown {
  const { errno, message } = error as Error & { errno?: number };
  if (errno === undefined || !DAMAGED.includes(errno)) return error;
  return new HistoryDamage('(unknown)', '(unknown)', message, error);
}
