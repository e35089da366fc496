/** Lists of the history as a whole, which is behind what the page shows for a moment. */
import { pages } from '../../../client/index.js';
import type { Paging } from '../../../client/types.js';

type Page<Field extends string, Entry> = Record<Field, Entry[]> & {
  nextCursor: string | null;
  sequence: number;
};

/**
 * Every entry, in the list's order, but no more than one past `most`; null: a page did not have all
 * up to the sequence yet.
 */
export async function everyEntry<Field extends string, Entry>(
  read: (paging: Paging) => Promise<Page<Field, Entry>>,
  field: Field,
  sequence: number,
  most = Number.POSITIVE_INFINITY,
): Promise<Entry[] | null> {
  const entries: Entry[] = [];
  let reached = Number.POSITIVE_INFINITY;
  const readPage = async (paging: Paging) => {
    const page = await read(paging);
    reached = Math.min(reached, page.sequence);
    return page;
  };
  for await (const entry of pages<Field, Entry>(readPage, field))
    if (entries.push(entry) > most) break;
  return reached < sequence ? null : entries;
}
