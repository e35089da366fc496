/**
 * The segments of a journal: one SQLite file each, cut by size. The first is `journal.db`, the
 * others are `journal-000002.db` and so on. Only the last one grows. Each but the first has a table
 * with one row, which says where the segment before it ended:
 *
 *   head
 *     segment           its number, from 2
 *     previousSequence  the last sequence before it
 *     previousHash      the hash of the row that ends there, the previous hash of its first row
 *     previousDigest    the digest of that row
 *
 * Invariant: the chain of hashes runs through all segments, and alone proves each of them. A
 * segment is sealed when its write-ahead log is empty and its file is read-only. A file gets its
 * name when its tables are on disk (open-segment.ts); an empty one is not a segment.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { JOURNAL_FILE } from './format.js';

export const HEAD_TABLE_SQL = `CREATE TABLE head (
  segment INTEGER PRIMARY KEY,
  previousSequence INTEGER NOT NULL,
  previousHash BLOB NOT NULL,
  previousDigest TEXT NOT NULL
) STRICT`;

export const SEGMENT_BYTES = 1024 * 1024 * 1024;

const NAME = /^journal-(\d{6})\.db$/;

export interface Segment {
  number: number;
  path: string;
}

export function segmentName(number: number): string {
  return number === 1 ? JOURNAL_FILE : `journal-${String(number).padStart(6, '0')}.db`;
}

export function segmentAt(folder: string, number: number): Segment {
  return { number, path: join(folder, segmentName(number)) };
}

/** Suffix of the mark file that replaces an archived segment. */
const ARCHIVED = '.archived';

export function archivedMark(path: string): string {
  return `${path}${ARCHIVED}`;
}

export function isArchivedMark(name: string): boolean {
  return name.endsWith(ARCHIVED);
}

/** The number in a segment's name; null means another file's name. */
export function segmentNumber(name: string): number | null {
  if (name === JOURNAL_FILE) return 1;
  const match = NAME.exec(name);
  return match === null ? null : Number(match[1]);
}

/** The size of the current segment's log; null if it cannot be read now. */
export function logBytes(folder: string): number | null {
  try {
    const { path } = listSegments(folder).at(-1)!;
    return statSync(`${path}-wal`).size;
  } catch {
    return null;
  }
}

export function archivedCount(folder: string): number {
  return readdirSync(folder).filter(isArchivedMark).length;
}

/** A range of segments in words, oldest first. */
export function namesOf(segments: readonly Segment[]): string {
  const [first, last] = [segments[0]!, segments.at(-1)!].map(({ number }) => segmentName(number));
  return first === last ? first! : `${first} to ${last}`;
}

/** The segments in a folder, oldest first. Earlier ones may be in an archive. */
export function listSegments(folder: string): Segment[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(folder)
    .map(segmentNumber)
    .filter((number) => number !== null)
    .sort((a, b) => a - b)
    .map((number) => segmentAt(folder, number));
}
