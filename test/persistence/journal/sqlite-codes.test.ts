/** The table of SQLite's result codes is complete, and its numbers are those of sqlite3. */
import sqlite3 from 'sqlite3';
import { describe, expect, test } from 'vitest';
import { fileProblem, sqliteCodes } from '../../../persistence/storage/sqlite-codes.js';

const PRIMARY = Array.from({ length: 29 }, (_, code) => code).concat(100, 101);

describe('the result codes of SQLite', () => {
  test('are all in the table exactly once', () => {
    const codes = [...sqliteCodes().values()].map(({ code }) => code);
    expect(codes.toSorted((a, b) => a - b)).toEqual(PRIMARY);
  });

  test('have the numbers that sqlite3 defines', () => {
    const numbers = new Map(
      Object.entries(sqlite3).filter(([, value]) => typeof value === 'number'),
    );
    const known = [...sqliteCodes()].filter(([name]) => numbers.has(name));
    expect(known.length).toBeGreaterThan(25);
    for (const [name, { code }] of known) expect(numbers.get(name), name).toBe(code);
  });

  test('an extended code counts as its primary code, and an unknown one as a bug', () => {
    const error = (errno: number, code = 'SQLITE_X') => Object.assign(new Error(), { errno, code });
    expect(fileProblem(error(10 | (1 << 8)))).toBe('unavailable');
    expect(fileProblem(error(11 | (2 << 8)))).toBe('wrong');
    expect(fileProblem(error(99))).toBe('misuse');
  });

  test("an error of the operating system, which has an errno too, is not SQLite's", () => {
    expect(fileProblem(Object.assign(new Error(), { errno: -24, code: 'EMFILE' }))).toBe(null);
    expect(fileProblem(new Error('no number'))).toBe(null);
  });
});
