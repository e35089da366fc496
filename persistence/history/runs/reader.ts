/**
 * Reads entries of the lists by their ordinals, out of their runs (format.ts). A list is read from
 * the newest part backwards; of the sealed ones, only those in which it has entries are opened.
 *
 * Invariant: an answer has every requested entry, as it was written, or a {@link HistoryDamage}
 * names the first that is missing or changed.
 */
import { inflateRawSync } from 'node:zlib';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { ByteReader, MalformedBytes } from '../../storage/bytes.js';
import type { PartList } from '../parts/catalogue.js';
import { type HistoryFiles, HistoryPruned } from '../parts/files.js';
import { HistoryDamage } from '../rows.js';
import {
  type EntryOf,
  KEPT,
  type ListLayout,
  negativesOf,
  RUN_ENTRIES,
  type RunHead,
  runChecksum,
} from './format.js';

/** A page of a list, newest first; `nextCursor` null: it is the last. */
export interface Page<T, Cursor = number> {
  entries: T[];
  nextCursor: Cursor | null;
}

/** `cursor`: the `nextCursor` of the page before; null for the first. */
export interface PageRequest {
  /** The most entries, at least 1. */
  limit: number;
  cursor: number | null;
}

/** A page with filters ends, perhaps not full, when it has read this many entries. */
export const ENTRIES_MAX = 30_000;

/** The files of the lists; each query waits for its turn. */
export interface ListFiles extends Pick<HistoryFiles, 'query' | 'holding' | 'lastPruned'> {
  parts: Pick<PartList, 'open' | 'unsealed' | 'prunedTo'>;
}

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
  /** The first entry that is searched; 1 if left out. */
  from?: number;
}

interface TimeSpan {
  id: number;
  /** The number of entries in the list. */
  count: number;
  /** 0 and MAX_TIME_MS: no bound. */
  fromMs: number;
  toMs: number;
  /** The first entry that is searched; 1 if left out. */
  first?: number;
}

export class ListReader {
  /** The run that {@link at} read last: a search ends within one run. */
  private last: { layout: ListLayout; id: number; entries: { ordinal: number }[] } | null = null;

  constructor(readonly files: ListFiles) {}

  /** Newest first. */
  async newestFirst<Layout extends ListLayout>(
    layout: Layout,
    place: Place,
  ): Promise<EntryOf<Layout>[]> {
    if (place.last < place.first) return [];
    return cutOut(layout, await this.runs(layout, place), place);
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
    const found = await this.runs(layout, { id, first: ordinal, last: ordinal });
    const [entry] = cutOut(layout, found, { id, first: ordinal, last: ordinal });
    this.last = { layout, id, entries: readRun(layout, found.runs[0]!) };
    return entry!;
  }

  /** The ordinals of the first and the last entry of a time, both included. */
  async inTime<Layout extends ListLayout>(
    layout: Layout,
    { id, count, fromMs, toMs, first = 1 }: TimeSpan,
  ): Promise<{ first: number; last: number }> {
    const firstAt = (value: number) =>
      this.firstFrom(layout, { id, count, column: 'atMs', value, from: first });
    return {
      first: fromMs === 0 ? first : await firstAt(fromMs),
      last: toMs === MAX_TIME_MS ? count : (await firstAt(toMs + 1)) - 1,
    };
  }

  /**
   * A page of the wanted entries from the ordinal `last` down to `first`, newest first. It ends,
   * perhaps not full, after ENTRIES_MAX. @param isWanted null: all are wanted
   */
  async page<Layout extends ListLayout>(
    layout: Layout,
    { id, first, last }: Place,
    { limit, cursor }: PageRequest,
    isWanted: ((entry: EntryOf<Layout>) => boolean) | null = null,
  ): Promise<Page<EntryOf<Layout>>> {
    const found: EntryOf<Layout>[] = [];
    const [piece, enough] = isWanted === null ? [limit, limit] : [RUN_ENTRIES, limit + 1];
    let next = cursor === null ? last : Math.min(last, cursor - 1);
    for (let read = 0; next >= first && found.length < enough && read < ENTRIES_MAX; ) {
      const place = { id, first: Math.max(first, next - piece + 1), last: next };
      const entries = await this.newestFirst(layout, place);
      found.push(...(isWanted === null ? entries : entries.filter(isWanted)));
      next -= piece;
      read += piece;
    }
    const entries = found.slice(0, limit);
    if (found.length > limit) return { entries, nextCursor: entries.at(-1)!.ordinal };
    return { entries, nextCursor: next >= first ? next + 1 : null };
  }

  /** The ordinal of the first entry whose column has at least the value; count + 1: none has. */
  async firstFrom<Layout extends ListLayout>(
    layout: Layout,
    { id, count, column, value, from: first = 1 }: Search<Layout>,
  ): Promise<number> {
    let from = first;
    let to = count + 1;
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      const entry = await this.at(layout, id, middle);
      if (entry[column as keyof typeof entry] >= value) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /**
   * All entries of a list whose ordinals have gaps, oldest first, except those that were pruned.
   */
  async all<Layout extends ListLayout>(layout: Layout, id: number): Promise<EntryOf<Layout>[]> {
    const { files } = this;
    const { list } = layout;
    const sql = `${selectRuns()} WHERE list = ? AND id = ? ORDER BY firstOrdinal`;
    const places = await files.holding({ list, id, first: 1, last: Number.MAX_SAFE_INTEGER });
    const parts = new Set([...files.parts.unsealed, ...places.map(({ part }) => part)]);
    const found: EntryOf<Layout>[] = [];
    const { prunedTo } = files.parts;
    for (const part of [...parts].filter((each) => each > prunedTo).reverse())
      for (const row of await files.query<RunRow>(part, sql, [list, id]))
        found.push(...readRun(layout, { ...row, part }));
    return found;
  }

  /** The runs with the entries from the ordinal `last` down to `first`, newest first. */
  private async runs(layout: ListLayout, { id, first, last }: Place): Promise<FoundRuns> {
    const { files } = this;
    const { list } = layout;
    const sql = `${selectRuns()} WHERE list = ?1 AND id = ?2 AND firstOrdinal <= ?3 AND firstOrdinal >=
      coalesce((SELECT max(firstOrdinal) FROM run WHERE list = ?1 AND id = ?2 AND firstOrdinal <= ?4), 1)
      ORDER BY firstOrdinal DESC`;
    const found: FoundRuns = { runs: [], lackingIn: files.parts.open };
    const { runs } = found;
    let wanted = last;
    const readPart = async (part: number) => {
      for (const row of await files.query<RunRow>(part, sql, [list, id, wanted, first]))
        runs.push({ ...row, part });
      wanted = Math.min(wanted, (runs.at(-1)?.firstOrdinal ?? Number.POSITIVE_INFINITY) - 1);
    };
    for (const part of files.parts.unsealed) {
      await readPart(part);
      if (wanted < first) return found;
    }
    for (const place of await files.holding({ list, id, first, last: wanted })) {
      if (place.lastOrdinal < wanted) break;
      await readPart(place.part);
      if (wanted < first) return found;
      // The part may have been pruned since the read began.
      if (place.part <= files.parts.prunedTo && !KEPT.includes(layout))
        throw new HistoryPruned(`${layout.name} of part ${place.part} was pruned`);
      if (wanted >= place.firstOrdinal) throw missingEntry(layout, id, wanted).in(place.part);
      // Places that do not follow one another are damage of the catalogue.
      found.lackingIn = null;
    }
    return found;
  }
}

/** The entries from the ordinal `last` down to `first`, out of their runs, newest run first. */
function cutOut<Layout extends ListLayout>(
  layout: Layout,
  { runs, lackingIn }: FoundRuns,
  { id, first, last }: Place,
): EntryOf<Layout>[] {
  const found: EntryOf<Layout>[] = [];
  let wanted = last;
  for (const run of runs) {
    const entries = readRun(layout, run);
    const newest = run.firstOrdinal + entries.length - 1;
    // Only the newest run may have entries after `last`.
    const isNext = run.id === id && (found.length === 0 ? newest >= wanted : newest === wanted);
    if (!isNext) throw missingEntry(layout, id, wanted).in(run.part);
    for (; wanted >= Math.max(first, run.firstOrdinal); wanted--)
      found.push(entries[wanted - run.firstOrdinal]!);
  }
  if (wanted < first) return found;
  throw missingEntry(layout, id, wanted).in(lackingIn);
}

export function missingEntry(
  { name, key }: ListLayout,
  id: number,
  ordinal: number,
): HistoryDamage {
  return new HistoryDamage(name, `${key} ${id}, ordinal ${ordinal}`, 'it is missing');
}

/** A run, and the part in which it is. */
type StoredRun = RunRow & { part: number };

interface FoundRuns {
  runs: StoredRun[];
  /** The part that is damaged if entries are missing; null if it is the catalogue. */
  lackingIn: number | null;
}

export interface RunRow extends RunHead {
  entries: Buffer;
}

export function selectRuns(table = 'run'): string {
  return `SELECT id, firstOrdinal, count, deflated, checksum, entries FROM ${table}`;
}

/** The entries of a run, oldest first. @throws HistoryDamage when it is not what was written. */
export function readRun<Layout extends ListLayout>(
  layout: Layout,
  row: RunRow & { part?: number },
): EntryOf<Layout>[] {
  const { key, columns } = layout;
  const values = valuesOf(layout, row);
  return Array.from({ length: row.count }, (_, i) => {
    const entry: Record<string, number> = { [key]: row.id, ordinal: row.firstOrdinal + i };
    for (const [column, name] of columns.entries())
      entry[name] = values[i * columns.length + column]!;
    return entry;
  }) as EntryOf<Layout>[];
}

/** The columns of all entries of a run, oldest first. @throws HistoryDamage */
export function valuesOf(layout: ListLayout, row: RunRow & { part?: number }): Float64Array {
  if (!isWritten(layout, row)) throw damagedRun(layout, row);
  try {
    return decode(layout, row);
  } catch (error) {
    // MalformedBytes, or an error of zlib.
    throw damagedRun(layout, row, error);
  }
}

/** A damaged file may give fractions, texts and blobs. */
function isWritten({ list }: ListLayout, row: RunRow): boolean {
  const numbers = [row.id, row.firstOrdinal, row.count];
  const isTyped = numbers.every(Number.isSafeInteger) && Buffer.isBuffer(row.entries);
  return isTyped && row.checksum === runChecksum(list, row, row.entries);
}

function decode(layout: ListLayout, { count, deflated, entries }: RunRow): Float64Array {
  const width = layout.columns.length;
  const isNegative = negativesOf(layout);
  const previous = new Float64Array(width);
  const reader = new ByteReader(deflated === 1 ? inflateRawSync(entries) : entries);
  const values = new Float64Array(count * width);
  for (let at = 0; at < values.length; ) {
    for (let column = 0; column < width; column++) {
      const value = previous[column]! + reader.signed();
      if (!isNegative[column]) previous[column] = value;
      values[at++] = value;
    }
  }
  if (!reader.atEnd) throw new MalformedBytes('the run has more bytes than entries');
  return values;
}

function damagedRun(
  { name, key }: ListLayout,
  row: RunRow & { part?: number },
  cause?: unknown,
): HistoryDamage {
  const { id, firstOrdinal, count } = row;
  const isKnown = Number.isSafeInteger(firstOrdinal) && count >= 1 && count <= RUN_ENTRIES;
  const entries = isKnown
    ? `the entries from there to ordinal ${firstOrdinal + count - 1}`
    : 'the entries from there on';
  const problem = `${entries} are not what was written`;
  const place = `${key} ${id}, ordinal ${firstOrdinal}`;
  return new HistoryDamage(name, place, problem, cause).in(row.part ?? null);
}
