/**
 * Whole lists of the history, at least as new as the page: requests name the page's sequence, so
 * that no cache answers with an older list.
 */
import { type CallOptions, pages } from '../../../client/index.js';
import type { Paging } from '../../../client/types.js';

type Page<Field extends string, Entry> = Record<Field, Entry[]> & {
  nextCursor: string | null;
};

/** The most entries to add up: ten of the exchange's pages. */
const ENTRIES_MAX = 2_000;

/**
 * All entries in the list's order. `many`: too many to add up on the page.
 * @throws if the history does not reach the sequence in time
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
