/**
 * The statement as a file. It is read page by page with the session's cookie and saved from memory,
 * so no address holds a credential, and a file is whole or not there.
 */
import { ledgerCsv } from '../../../client/index.js';
import type { LedgerFilter } from '../../../client/types.js';
import { api } from '../model/exchange.js';

const PAGE_ENTRIES = 200;

/** Every page as one file; `onRead` is told how many entries have been read. */
export async function saveStatement(
  userId: string,
  filter: LedgerFilter,
  onRead: (entries: number) => void,
): Promise<void> {
  const parts: string[] = [];
  let entries = 0;
  let cursor: string | null = null;
  do {
    const query = { ...filter, limit: PAGE_ENTRIES, cursor };
    const page: Awaited<ReturnType<typeof ledgerCsv>> = await ledgerCsv(api, userId, query);
    const headEnd = page.csv.indexOf('\r\n') + 2;
    parts.push(parts.length === 0 ? page.csv : page.csv.slice(headEnd));
    entries += page.csv.split('\r\n').length - 2;
    onRead(entries);
    cursor = page.nextCursor;
  } while (cursor !== null);
  save(new Blob(parts, { type: 'text/csv' }), `statement-${userId}.csv`);
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The browser has taken the file over once the click is handled.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
