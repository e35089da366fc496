/**
 * Reads entries of the lists by their ordinals, out of their runs.
 *
 * Always holds: an answer has every entry that was asked for, as written, or a
 * {@link HistoryDamage} names the first that is missing or changed.
 */
import type { EntryOf, ListLayout } from './format.js';
import { HistoryDamage, type RunRow, readRun, selectRuns } from './rows.js';

export type Query = <Row>(sql: string, parameters: readonly (number | string)[]) => Promise<Row[]>;

interface Place {
  /** The user, the market or the asset whose list it is. */
  id: number;
  /** Ordinals, both included. */
  first: number;
  last: number;
}

interface Search<Layout extends ListLayout> {
  id: number;
  /** The number of entries in the list. */
  count: number;
  /** A column that never decreases. */
  column: Layout['columns'][number];
  value: number;
}

export class ListReader {
  constructor(private readonly query: Query) {}

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

  async at<Layout extends ListLayout>(
    layout: Layout,
    id: number,
    ordinal: number,
  ): Promise<EntryOf<Layout>> {
    return (await this.newestFirst(layout, { id, first: ordinal, last: ordinal }))[0]!;
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
