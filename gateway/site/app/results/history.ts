/** Lists of the history as a whole, which is behind what the page shows for a moment. */
import { pages } from '../../../client/index.js';
import type { Paging } from '../../../client/types.js';

type Page<Field extends string, Entry> = Record<Field, Entry[]> & {
  nextCursor: string | null;
  sequence: number;
};

/** What a page adds up: ten of the exchange's pages. */
const ENTRIES_MAX = 2_000;

/**
 * Every entry, in the list's order. `behind`: the history did not have all up to the sequence yet.
 * `many`: there are too many to add up on a page.
 */
export async function everyEntry<Field extends string, Entry>(
  read: (paging: Paging) => Promise<Page<Field, Entry>>,
  field: Field,
  sequence: number,
): Promise<Entry[] | 'behind' | 'many'> {
  const entries: Entry[] = [];
  let reached = Number.POSITIVE_INFINITY;
  const readPage = async (paging: Paging) => {
    const page = await read(paging);
    reached = Math.min(reached, page.sequence);
    return page;
  };
  for await (const entry of pages<Field, Entry>(readPage, field))
    if (entries.push(entry) > ENTRIES_MAX) return 'many';
  return reached < sequence ? 'behind' : entries;
}
