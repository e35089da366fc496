/**
 * The statement as CSV, read page by page with the session's cookie, so that no URL contains a
 * credential.
 */
import { type Api, type LedgerFilter, ledgerCsv } from '../../../client/index.js';

const PAGE_ENTRIES = 200;

/** The parts of a file: all pages, one header line. `onRead` gets the number of entries read. */
export async function readStatement(
  api: Api,
  userId: string,
  filter: LedgerFilter,
  onRead: (entries: number) => void,
): Promise<string[]> {
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
  return parts;
}

export function fileName(userId: string, { cause, marketId, fromMs, toMs }: LedgerFilter): string {
  const days = [
    fromMs === undefined ? [] : [dayOf(fromMs)],
    toMs === undefined ? [] : ['to', dayOf(toMs)],
  ].flat();
  return `${['statement', userId, cause, marketId, ...days].filter(Boolean).join('-')}.csv`;
}

/** The day as in the form, in this machine's time zone. */
function dayOf(atMs: number): string {
  const date = new Date(atMs);
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return parts.map((part) => String(part).padStart(2, '0')).join('-');
}
