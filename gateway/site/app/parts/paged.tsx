/** A table that reads its list from the exchange page by page. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Action } from './action.js';
import { Read, useReading } from './reading.js';
import { Table, type TableProps, type TableRow } from './table.js';

/** After this time, the exchange's history contains what the page has just shown. */
const HISTORY_MS = 1_000;

interface Page {
  nextCursor: string | null;
}

interface PagedProps<List extends string, Of extends Page & Record<List, readonly unknown[]>>
  extends Omit<TableProps, 'rows'> {
  /** What is listed. A change starts from the first page. */
  about: string;
  /** The list's field in a page. */
  list: List;
  read: (cursor: string | null) => Promise<Of>;
  /** A change means new entries: the list is read again unless more pages were loaded. */
  news?: unknown;
  rows: (entries: Of[List]) => TableRow[];
}

export function Paged<List extends string, Of extends Page & Record<List, readonly unknown[]>>(
  props: PagedProps<List, Of>,
) {
  const { about, list, read, news, rows, ...table } = props;
  const first = useReading(() => read(null), about);
  const more = useSignal<{ about: string; pages: Of[] } | null>(null);
  const known = useRef(news);
  useEffect(() => {
    if (known.current === news) return;
    known.current = news;
    const readAgain = () => more.peek()?.about !== about && void first.again();
    const timer = setTimeout(readAgain, HISTORY_MS);
    return () => clearTimeout(timer);
  }, [news]);
  const added = more.value?.about === about ? more.value.pages : [];
  return (
    <Read of={first}>
      {(page) => {
        const pages = [page, ...added];
        const cursor = pages.at(-1)!.nextCursor;
        const entries = pages.flatMap((each) => each[list]) as readonly unknown[] as Of[List];
        const readMore = async () => {
          const next = await read(cursor);
          more.value = { about, pages: [...added, next] };
        };
        return (
          <>
            <Table {...table} rows={rows(entries)} />
            {cursor !== null && (
              <p class="more">
                <Action run={readMore}>More</Action>
              </p>
            )}
          </>
        );
      }}
    </Read>
  );
}
