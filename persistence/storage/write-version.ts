/**
 * The write version in the header of an SQLite file (https://sqlite.org/fileformat2.html): SQLite
 * opens a file with a later write version for reading, but does not write to it.
 */
import { readSync } from 'node:fs';
import { withFile } from './files.js';

export const WRITE_VERSION_AT = 18;
const WRITE_VERSION_MAX = 2;

/** Whether SQLite would write to the file, which may be empty. */
export function takesWrites(path: string): boolean {
  const byte = Buffer.alloc(1);
  withFile(path, 'r', (file) => readSync(file, byte, 0, 1, WRITE_VERSION_AT));
  return byte[0]! <= WRITE_VERSION_MAX;
}
