/** The meaning of SQLite's result codes, by sqlite3's names for them. */
import sqlite3 from 'sqlite3';
import { expect, test } from 'vitest';
import { fileProblem, PROBLEMS } from '../../../persistence/storage/sqlite-codes.js';

const error = (code: string) => Object.assign(new Error(), { errno: 1, code });

test.each(Object.entries(PROBLEMS))('%s are codes of sqlite3', (problem, codes) => {
  for (const code of codes) {
    expect(Object.keys(sqlite3)).toContain(code);
    expect(fileProblem(error(`SQLITE_${code}`))).toBe(problem);
  }
});

test('any other code of SQLite is a bug of this program', () => {
  for (const code of ['INTERNAL', 'NOTFOUND', 'MISUSE', 'RANGE', 'X'])
    expect(fileProblem(error(`SQLITE_${code}`))).toBe('misuse');
});

test("an error of the operating system, which has an errno too, is not SQLite's", () => {
  expect(fileProblem(error('EMFILE'))).toBe(null);
  expect(fileProblem(new Error('no code'))).toBe(null);
});
