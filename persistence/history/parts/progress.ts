/** The progress of a part of the history: one row, as JSON. */
import type sqlite3 from 'sqlite3';
import { GENESIS } from '../../journal/format.js';
import { query } from '../../storage/sqlite.js';
import { checkedValue, HistoryDamage, putValue, selectValues, type ValueRow } from '../rows.js';
import { COUNTED, type CountedName, PROGRESS } from '../runs/format.js';

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

const ID = 1;

export const NOTHING: Progress = {
  sequence: 0,
  hash: GENESIS.hash,
  atMs: 0,
  counts: countsOf(() => 0),
};

export function countsOf(count: (name: CountedName) => number): Progress['counts'] {
  return Object.fromEntries(COUNTED.map((name) => [name, count(name)])) as Progress['counts'];
}

/** The hash in hex, the counts by their names. @param more what else the text says. */
export function progressText({ sequence, hash, atMs, counts }: Progress, more = {}): string {
  return JSON.stringify({ sequence, atMs, hash: hash.toString('hex'), ...counts, ...more });
}

export function progressIn(text: string): Progress {
  const { sequence, atMs, hash, ...counts } = JSON.parse(text);
  return {
    sequence,
    atMs,
    hash: Buffer.from(hash, 'hex'),
    counts: countsOf((name) => counts[name]),
  };
}

/** @throws HistoryDamage when it is not what was written. */
export async function readProgress(database: sqlite3.Database): Promise<Progress> {
  const [row] = await query<ValueRow<string>>(database, selectValues(PROGRESS));
  return progressIn(checkedValue(PROGRESS, row, ID));
}

export function writeProgress(database: sqlite3.Database, progress: Progress): Promise<void> {
  return putValue(database, PROGRESS, ID, progressText(progress));
}

/** @throws HistoryDamage when there are more or fewer entries than up to `progress`. */
export function checkTotal(
  name: CountedName,
  { counts }: Pick<Progress, 'counts'>,
  total: number,
): void {
  if (total !== counts[name])
    throw new HistoryDamage(name, '(unknown)', `it holds ${total}, not ${counts[name]}`);
}
