/**
 * What each result code of SQLite means for a file that is being read.
 *
 * - `unavailable`: the file cannot be read now. Its contents may be fine, so the read is retried.
 * - `wrong`: the contents are not what was written, or not what this program expects.
 * - `misuse`: this program has called SQLite in a way that it does not allow: a bug.
 *
 * Always holds: every code of SQLite is listed (https://www.sqlite.org/rescode.html); an unknown
 * one is `misuse`. sqlite3 returns primary codes, which are the low byte of extended codes.
 */
export type FileProblem = 'unavailable' | 'wrong' | 'misuse';

const CODES: Readonly<Record<string, readonly [code: number, problem: FileProblem | null]>> = {
  OK: [0, null],
  /** "No such table", "no such column": the file belongs to another program. */
  ERROR: [1, 'wrong'],
  INTERNAL: [2, 'misuse'],
  PERM: [3, 'unavailable'],
  ABORT: [4, 'unavailable'],
  BUSY: [5, 'unavailable'],
  LOCKED: [6, 'unavailable'],
  NOMEM: [7, 'unavailable'],
  /** Also returned to a reader that must rebuild the index of the write-ahead log and may not. */
  READONLY: [8, 'unavailable'],
  INTERRUPT: [9, 'unavailable'],
  /** The disk or the file system failed. The next read may succeed. */
  IOERR: [10, 'unavailable'],
  CORRUPT: [11, 'wrong'],
  NOTFOUND: [12, 'misuse'],
  FULL: [13, 'unavailable'],
  /** No file descriptor is left, permission is missing, or the path is a folder. */
  CANTOPEN: [14, 'unavailable'],
  /** Too many races for the locks of the write-ahead log. */
  PROTOCOL: [15, 'unavailable'],
  EMPTY: [16, 'misuse'],
  SCHEMA: [17, 'wrong'],
  /** A row whose header gives a length above SQLite's limit. */
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

/** All codes by name, without SQLITE_; `problem` null: not an error. */
export function sqliteCodes(): ReadonlyMap<string, { code: number; problem: FileProblem | null }> {
  return new Map(Object.entries(CODES).map(([name, [code, problem]]) => [name, { code, problem }]));
}

/** What an error means for the file; null: it is not an error of SQLite. */
export function fileProblem(error: unknown): FileProblem | null {
  const { errno, code } = error as { errno?: unknown; code?: unknown };
  // Errors of the operating system have an errno too.
  if (typeof errno !== 'number' || !String(code).startsWith('SQLITE_')) return null;
  return PROBLEMS.get(errno & PRIMARY_CODE) ?? 'misuse';
}
