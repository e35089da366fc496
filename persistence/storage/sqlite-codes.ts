/**
 * What an SQLite error means for a file being read (https://www.sqlite.org/rescode.html).
 *
 * - `unavailable`: the file cannot be read now. Its contents may be fine, so the read is retried.
 * - `wrong`: the contents are not what was written, or not what this program expects.
 * - `misuse`: any other error: this program has used SQLite wrongly.
 */
export type FileProblem = 'unavailable' | 'wrong' | 'misuse';

export const PROBLEMS: Readonly<Record<Exclude<FileProblem, 'misuse'>, readonly string[]>> = {
  // READONLY is also returned to a reader that must rebuild the index of the write-ahead log and
  // may not; PROTOCOL after too many races for its locks.
  unavailable: [
    ...['PERM', 'ABORT', 'BUSY', 'LOCKED', 'NOMEM', 'READONLY', 'INTERRUPT', 'IOERR', 'FULL'],
    ...['CANTOPEN', 'PROTOCOL', 'NOLFS', 'AUTH'],
  ],
  // ERROR is "no such table"; TOOBIG a row whose header gives a length above SQLite's limit.
  wrong: ['ERROR', 'CORRUPT', 'SCHEMA', 'TOOBIG', 'CONSTRAINT', 'MISMATCH', 'FORMAT', 'NOTADB'],
};

/** The problem that an SQLite error means; null for any other error. */
export function fileProblem(error: unknown): FileProblem | null {
  const [, code] = /^SQLITE_(\w+)$/.exec(String((error as { code?: unknown }).code)) ?? [];
  if (code === undefined) return null;
  if (PROBLEMS.unavailable.includes(code)) return 'unavailable';
  return PROBLEMS.wrong.includes(code) ? 'wrong' : 'misuse';
}
