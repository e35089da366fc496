/**
 * Lists of the history as a whole, as new as what the page shows: they name its sequence, so that
 * no cache answers with an older one.
 */
import { type CallOptions, pages } from '../../../client/index.js';
import type { Paging } from '../../../client/types.js';

type Page<Field extends string, Entry> = Record<Field, Entry[]> & {
  nextCursor: string | null;
};

/** What a page adds up: ten of the exchange's pages. */
const ENTRIES_MAX = 2_000;

/**
 * Every entry, in the list's order. `many`: there are too many to add up on a page.
 * @throws if the history does not have all up to the sequence in time
 */
export async function everyEntry<Field extends string, Entry>(
  read: (paging: Paging, options: CallOptions) => Promise<Page<Field, Entry>>,
  field: Field,
  minSequence: number,
): Promise<Entry[] | 'many'> {
  const entries: Entry[] = [];
  const readPage = (paging: Paging) => read(paging, { minSequence });
  for await (const entry of pages<Field, Entry>(readPage, field))
    if (entries.push(entry) > ENTRIES_MAX) return 'many';
  return entries;
}
