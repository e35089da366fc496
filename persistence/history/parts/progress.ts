/** How far a part of the history is: one row, with a checksum. */
import type sqlite3 from 'sqlite3';
import { GENESIS } from '../../journal/format.js';
import { query } from '../../storage/sqlite.js';
import { HistoryDamage } from '../rows.js';
import { COUNTED, type CountedName, checksumOf, PROGRESS_TAG } from '../runs/format.js';

/** The end of a journal batch, and the number of entries of each kind up to there. */
export interface Progress extends BatchEnd {
  counts: Record<CountedName, number>;
}

export interface BatchEnd {
  sequence: number;
  hash: Buffer;
  /** The time of the command. */
  atMs: number;
}

export const NOTHING: Progress = {
  sequence: 0,
  hash: GENESIS.hash,
  atMs: 0,
  counts: countsOf(() => 0),
};

type ProgressRow = { id: number; checksum: number } & BatchEnd &
  Record<`${CountedName}Count`, number>;

/** @throws HistoryDamage when it is not what was written. */
export async function readProgress(database: sqlite3.Database): Promise<Progress> {
  const rows = await query<ProgressRow>(database, 'SELECT * FROM progress');
  const row = rows[0];
  if (rows.length !== 1 || row === undefined)
    throw new HistoryDamage('progress', 'id 1', 'it is missing');
  const { sequence, hash, atMs } = row;
  const progress = { sequence, hash, atMs, counts: countsOf((name) => row[`${name}Count`]) };
  if (row.id !== 1 || progressChecksum(progress) !== row.checksum) {
    throw new HistoryDamage('progress', 'id 1', 'it is not what was written');
  }
  return progress;
}

export async function writeProgress(database: sqlite3.Database, progress: Progress): Promise<void> {
  const { sequence, hash, atMs } = progress;
  const counts = COUNTED.map(({ name }) => progress.counts[name]);
  const row = [1, sequence, hash, atMs, ...counts, progressChecksum(progress)];
  const marks = row.map(() => '?').join(', ');
  await query(database, `REPLACE INTO progress VALUES (${marks})`, row);
}

export function countsOf(count: (name: CountedName) => number): Record<CountedName, number> {
  return Object.fromEntries(COUNTED.map(({ name }) => [name, count(name)])) as Record<
    CountedName,
    number
  >;
}

function progressChecksum({ sequence, hash, atMs, counts }: Progress): number {
  const values = [sequence, ...hash, atMs, ...COUNTED.map(({ name }) => counts[name])];
  return checksumOf(PROGRESS_TAG, values);
}
