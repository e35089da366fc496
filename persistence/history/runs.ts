/**
 * Runs of entries as rows of history.db (history-format.ts), written and read by one codec for all lists.
 *
 * Always holds: what is read is what was written, entry for entry and to the last digit, or a {@link HistoryDamage} names the run;
 * an entry that could not be read back is refused (RangeError) when it is written.
 */
import { ByteReader, type ByteWriter, MalformedBytes } from '../storage/bytes.js';
import { HistoryDamage } from './damage.js';
import { type EntryOf, type ListLayout, RUN_ENTRIES, runChecksum } from './format.js';

/** A row of a table of runs, as {@link selectRuns} gives it. */
export interface RunRow {
  /** Whose list it is of. */
  id: number;
  firstOrdinal: number;
  count: number;
  checksum: number;
  entries: Buffer;
}

/** A query of whole runs, up to its conditions. */
export function selectRuns({ name, key }: ListLayout): string {
  return `SELECT ${key} AS id, firstOrdinal, count, checksum, entries FROM ${name}`;
}

/** Writes the entries of one run after another. */
export class RunWriter {
  private readonly isNegative: readonly boolean[];
  /** The entry before, 0 where differences are not taken. */
  private readonly before: Float64Array;

  constructor(layout: ListLayout) {
    this.isNegative = negativesOf(layout);
    this.before = new Float64Array(layout.columns.length);
  }

  begin(): void {
    this.before.fill(0);
  }

  /** The entry whose columns stand in `values` from `at` on. */
  append(bytes: ByteWriter, values: Float64Array, at: number): void {
    const { before, isNegative } = this;
    for (let column = 0; column < before.length; column++) {
      const value = values[at + column]!;
      bytes.signed(value - before[column]!);
      if (!isNegative[column]) before[column] = value;
    }
  }
}

/** The entries of a run, oldest first. @throws HistoryDamage when the run is not what was written. */
export function readRun<Layout extends ListLayout>(layout: Layout, row: RunRow): EntryOf<Layout>[] {
  if (!isWritten(layout, row)) throw damagedRun(layout, row);
  try {
    return entriesOf(layout, row);
  } catch (error) {
    if (error instanceof MalformedBytes) throw damagedRun(layout, row, error);
    throw error;
  }
}

/** Whether its checksum says so. A damaged file may give fractions, texts and nulls, which a checksum does not tell apart. */
function isWritten({ tag }: ListLayout, { id, firstOrdinal, count, checksum, entries }: RunRow): boolean {
  const numbers = [id, firstOrdinal, count];
  return (
    numbers.every(Number.isSafeInteger) &&
    Buffer.isBuffer(entries) &&
    runChecksum(tag, numbers, entries) === checksum
  );
}

function entriesOf<Layout extends ListLayout>(layout: Layout, row: RunRow): EntryOf<Layout>[] {
  const { key, columns } = layout;
  const isNegative = negativesOf(layout);
  const before = new Float64Array(columns.length);
  const reader = new ByteReader();
  reader.open(row.entries);
  const entries: Record<string, number>[] = [];
  for (let i = 0; i < row.count; i++) {
    const entry: Record<string, number> = { [key]: row.id, ordinal: row.firstOrdinal + i };
    for (let column = 0; column < columns.length; column++) {
      const value = before[column]! + reader.signed();
      if (!isNegative[column]) before[column] = value;
      entry[columns[column]!] = value;
    }
    entries.push(entry);
  }
  if (!reader.atEnd) throw reader.malformed('the run has more bytes than entries');
  return entries as EntryOf<Layout>[];
}

function negativesOf({ columns, negatives }: ListLayout): boolean[] {
  return columns.map((column) => negatives.includes(column));
}

function damagedRun(
  { name, key }: ListLayout,
  { id, firstOrdinal, count }: RunRow,
  cause?: unknown,
): HistoryDamage {
  const isKnown = Number.isSafeInteger(firstOrdinal) && count >= 1 && count <= RUN_ENTRIES;
  const entries = isKnown
    ? `the entries from there to ordinal ${firstOrdinal + count - 1}`
    : 'the entries from there on';
  return new HistoryDamage(
    name,
    `${key} ${id}, ordinal ${firstOrdinal}`,
    `${entries} are not what was written`,
    cause,
  );
}
