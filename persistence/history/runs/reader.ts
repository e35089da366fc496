/**
 * Reads entries of the lists by their ordinals, out of their runs (format.ts).
 *
 * Always holds: an answer has every entry that was asked for, as written, or a
 * {@link HistoryDamage} names the first that is missing or changed.
 */
import { ByteReader, MalformedBytes } from '../../storage/bytes.js';
import { HistoryDamage } from '../rows.js';
import { type EntryOf, type ListLayout, negativesOf, RUN_ENTRIES, runChecksum } from './format.js';

/** A page with filters ends, perhaps not full, when it has read this many entries. */
export const ENTRIES_MAX = 30_000;

export type Query = <Row>(sql: string, parameters: readonly (number | string)[]) => Promise<Row[]>;

interface Place {
  /** The user, the market or the asset whose list it is. */
  id: number;
  /** Ordinals, both included. */
  first: number;
  last: number;
}

interface Search<Layout extends ListLayout> {
  /** The user, the market or the asset whose list it is. */
  id: number;
  /** The number of entries in the list. */
  count: number;
  /** A column that never decreases. */
  column: Layout['columns'][number];
  value: number;
}

export class ListReader {
  /** The run that {@link at} read last: the end of a search is within one. */
  private last: { layout: ListLayout; id: number; entries: { ordinal: number }[] } | null = null;

  constructor(readonly query: Query) {}

  /** Newest first. */
  async newestFirst<Layout extends ListLayout>(
    layout: Layout,
    { id, first, last }: Place,
  ): Promise<EntryOf<Layout>[]> {
    if (last < first) return [];
    const { name, key } = layout;
    const runs = await this.query<RunRow>(
      `${selectRuns(layout)} WHERE ${key} = ?1 AND firstOrdinal <= ?2 AND firstOrdinal >=
        coalesce((SELECT max(firstOrdinal) FROM ${name} WHERE ${key} = ?1 AND firstOrdinal <= ?3), 1)
        ORDER BY firstOrdinal DESC`,
      [id, last, first],
    );
    return cutOut(layout, runs, { id, first, last });
  }

  async oldestFirst<Layout extends ListLayout>(
    layout: Layout,
    place: Place,
  ): Promise<EntryOf<Layout>[]> {
    return (await this.newestFirst(layout, place)).reverse();
  }

  /** Oldest first, read in pieces. */
  async *from<Layout extends ListLayout>(
    layout: Layout,
    { id, first, last }: Place,
  ): AsyncGenerator<EntryOf<Layout>, void, void> {
    for (let from = first; from <= last; from += RUN_ENTRIES) {
      const to = Math.min(last, from + RUN_ENTRIES - 1);
      yield* await this.oldestFirst(layout, { id, first: from, last: to });
    }
  }

  async at<Layout extends ListLayout>(
    layout: Layout,
    id: number,
    ordinal: number,
  ): Promise<EntryOf<Layout>> {
    const isThere = this.last?.layout === layout && this.last.id === id;
    const first = isThere ? this.last!.entries[0]!.ordinal : 0;
    const known = isThere ? this.last!.entries[ordinal - first] : undefined;
    if (known !== undefined) return known as EntryOf<Layout>;
    const { key } = layout;
    const sql = `${selectRuns(layout)} WHERE ${key} = ? AND firstOrdinal <= ?
      ORDER BY firstOrdinal DESC LIMIT 1`;
    const runs = await this.query<RunRow>(sql, [id, ordinal]);
    const [found] = cutOut(layout, runs, { id, first: ordinal, last: ordinal });
    this.last = { layout, id, entries: readRun(layout, runs[0]!) };
    return found!;
  }

  /** The ordinal of the first entry whose column has at least the value; count + 1: none has. */
  async firstFrom<Layout extends ListLayout>(
    layout: Layout,
    { id, count, column, value }: Search<Layout>,
  ): Promise<number> {
    let from = 1;
    let to = count + 1;
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      const entry = await this.at(layout, id, middle);
      if (entry[column as keyof typeof entry] >= value) to = middle;
      else from = middle + 1;
    }
    return from;
  }
}

/** The entries from the ordinal `last` down to `first`, out of their runs, newest run first. */
function cutOut<Layout extends ListLayout>(
  layout: Layout,
  runs: readonly RunRow[],
  { id, first, last }: Place,
): EntryOf<Layout>[] {
  const found: EntryOf<Layout>[] = [];
  let wanted = last;
  for (const run of runs) {
    const entries = readRun(layout, run);
    const newest = run.firstOrdinal + entries.length - 1;
    // Only the newest run may have entries after `last`.
    const isNext = run.id === id && (found.length === 0 ? newest >= wanted : newest === wanted);
    if (!isNext) break;
    for (; wanted >= Math.max(first, run.firstOrdinal); wanted--)
      found.push(entries[wanted - run.firstOrdinal]!);
  }
  if (wanted < first) return found;
  throw new HistoryDamage(layout.name, `${layout.key} ${id}, ordinal ${wanted}`, 'it is missing');
}

export interface RunRow {
  id: number;
  firstOrdinal: number;
  count: number;
  checksum: number;
  entries: Buffer;
}

export function selectRuns({ name, key }: ListLayout): string {
  return `SELECT ${key} AS id, firstOrdinal, count, checksum, entries FROM ${name}`;
}

/** The entries of a run, oldest first. @throws HistoryDamage when it is not what was written. */
export function readRun<Layout extends ListLayout>(layout: Layout, row: RunRow): EntryOf<Layout>[] {
  checkRun(layout, row);
  try {
    return entriesOf(layout, row);
  } catch (error) {
    if (error instanceof MalformedBytes) throw damagedRun(layout, row, error);
    throw error;
  }
}

/** @throws HistoryDamage when the run is not what was written. */
export function checkRun(layout: ListLayout, row: RunRow): void {
  if (!isWritten(layout, row)) throw damagedRun(layout, row);
}

/** A damaged file may give fractions, texts and blobs, which the checksum ignores. */
function isWritten({ tag }: ListLayout, row: RunRow): boolean {
  const { entries, checksum } = row;
  const numbers = [row.id, row.firstOrdinal, row.count];
  const isTyped = numbers.every(Number.isSafeInteger) && Buffer.isBuffer(entries);
  return isTyped && runChecksum(tag, numbers, entries) === checksum;
}

function entriesOf<Layout extends ListLayout>(layout: Layout, row: RunRow): EntryOf<Layout>[] {
  const { key, columns } = layout;
  const isNegative = negativesOf(layout);
  const previous = new Float64Array(columns.length);
  const reader = new ByteReader(row.entries);
  const entries: Record<string, number>[] = [];
  for (let i = 0; i < row.count; i++) {
    const entry: Record<string, number> = { [key]: row.id, ordinal: row.firstOrdinal + i };
    for (let column = 0; column < columns.length; column++) {
      const value = previous[column]! + reader.signed();
      if (!isNegative[column]) previous[column] = value;
      entry[columns[column]!] = value;
    }
    entries.push(entry);
  }
  if (!reader.atEnd) throw new MalformedBytes('the run has more bytes than entries');
  return entries as EntryOf<Layout>[];
}

function damagedRun({ name, key }: ListLayout, row: RunRow, cause?: unknown): HistoryDamage {
  const { id, firstOrdinal, count } = row;
  const isKnown = Number.isSafeInteger(firstOrdinal) && count >= 1 && count <= RUN_ENTRIES;
  const entries = isKnown
    ? `the entries from there to ordinal ${firstOrdinal + count - 1}`
    : 'the entries from there on';
  const problem = `${entries} are not what was written`;
  return new HistoryDamage(name, `${key} ${id}, ordinal ${firstOrdinal}`, problem, cause);
}
