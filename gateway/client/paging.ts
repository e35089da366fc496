/** Lists that come in pages. */
import type { Paging } from './types.js';

/** The entries of all pages: pages((paging) => userTrades(api, userId, paging), 'trades'). */
export async function* pages<Field extends string, Entry>(
  read: (paging: Paging) => Promise<Record<Field, Entry[]> & { nextCursor: string | null }>,
  field: Field,
  limit = 200,
): AsyncGenerator<Entry, void, void> {
  let cursor: string | null = null;
  do {
    const page: Record<Field, Entry[]> & { nextCursor: string | null } = await read({
      limit,
      cursor,
    });
    yield* page[field];
    cursor = page.nextCursor;
  } while (cursor !== null);
}
