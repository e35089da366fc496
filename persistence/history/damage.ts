/**
 * What is wrong with history.db. Nothing is lost by it: the history is made again from the journal.
 */
import { fileProblem } from '../storage/sqlite-codes.js';

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

/** An error of SQLite, as damage if that is what it says; as it is when it says something else (a full disk). */
export function asDamage(error: unknown): unknown {
  if (fileProblem(error) !== 'wrong') return error;
  return new HistoryDamage('(unknown)', '(unknown)', (error as Error).message, error);
}
