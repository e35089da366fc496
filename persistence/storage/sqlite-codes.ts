/**
 * What each result code of SQLite says of a file that is being read.
 *
 * - `unavailable`: it cannot be read now. Nothing is known to be wrong with its contents, so it is tried again.
 * - `wrong`: its contents are not what was written, or not what this program expects there.
 * - `misuse`: SQLite was used in a way that it does not allow. That is a mistake of this program.
 *
 * Always holds: every code that SQLite has stands here (https://www.sqlite.org/rescode.html); one that is not known is `misuse`.
 * sqlite3 gives primary codes. Should it give extended ones, their low byte is the primary code.
 */
export type FileProblem = 'unavailable' | 'wrong' | 'misuse';

const CODES: Readonly<Record<string, readonly [code: number, problem: FileProblem | null]>> = {
  OK: [0, null],
  /** "No such table", "no such column": the file is of another program. */
  ERROR: [1, 'wrong'],
  INTERNAL: [2, 'misuse'],
  PERM: [3, 'unavailable'],
  ABORT: [4, 'unavailable'],
  BUSY: [5, 'unavailable'],
  LOCKED: [6, 'unavailable'],
  NOMEM: [7, 'unavailable'],
  /** Also to a reader, when the index of the write-ahead log has to be made anew and may not be. */
  READONLY: [8, 'unavailable'],
  INTERRUPT: [9, 'unavailable'],
  /** The disk or the file system fails. What it would have given is not known, and the next time it may. */
  IOERR: [10, 'unavailable'],
  CORRUPT: [11, 'wrong'],
  NOTFOUND: [12, 'misuse'],
  FULL: [13, 'unavailable'],
  /** No descriptor is left, no permission, or a folder stands in its place. */
  CANTOPEN: [14, 'unavailable'],
  /** A race for the locks of the write-ahead log. */
  PROTOCOL: [15, 'unavailable'],
  EMPTY: [16, 'misuse'],
  SCHEMA: [17, 'wrong'],
  /** A row that says that it is longer than any can be. */
  TOOBIG: [18, 'wrong'],
  CONSTRAINT: [19, 'wrong'],
  MISMATCH: [20, 'wrong'],
  MISUSE: [21, 'misuse'],
  /** The file system has no files of this size. */
  NOLFS: [22, 'unavailable'],
  AUTH: [23, 'unavailable'],
  FORMAT: [24, 'wrong'],
  RANGE: [25, 'misuse'],
  NOTADB: [26, 'wrong'],
  NOTICE: [27, null],
  WARNING: [28, null],
  ROW: [100, null],
  DONE: [101, null],
};

const PROBLEMS = new Map(Object.values(CODES));
const PRIMARY_CODE = 0xff;

/** The names of all codes, without SQLITE_, and what each says; null: it is not an error. */
export function sqliteCodes(): ReadonlyMap<string, { code: number; problem: FileProblem | null }> {
  return new Map(Object.entries(CODES).map(([name, [code, problem]]) => [name, { code, problem }]));
}

/** What an error of SQLite says of the file; null: it is not an error of SQLite. */
export function fileProblem(error: unknown): FileProblem | null {
  const { errno, code } = error as { errno?: unknown; code?: unknown };
  // Errors of the operating system have an errno, too.
  if (typeof errno !== 'number' || !String(code).startsWith('SQLITE_')) return null;
  return PROBLEMS.get(errno & PRIMARY_CODE) ?? 'misuse';
}
