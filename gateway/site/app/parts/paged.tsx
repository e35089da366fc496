/** A list of the exchange that is read page by page. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Action } from './action.js';
import { Read, useReading } from './reading.js';

/** After this time, the exchange's history has what the page has just been told. */
const HISTORY_MS = 1_000;

export interface Page<Entry> {
  entries: readonly Entry[];
  nextCursor: string | null;
}

export function Paged<Entry>(props: {
  /** What is listed: another list starts from its beginning. */
  about: string;
  read: (cursor: string | null) => Promise<Page<Entry>>;
  /** When it changes, there may be new entries: the list is read again unless more was asked. */
  news?: unknown;
  children: (entries: readonly Entry[]) => ComponentChildren;
}) {
  const { about, read, news, children } = props;
  const first = useReading(() => read(null), about);
  const more = useSignal<{ about: string; page: Page<Entry> } | null>(null);
  const known = useRef(news);
  useEffect(() => {
    if (known.current === news) return;
    known.current = news;
    const readAgain = () => more.peek()?.about !== about && void first.again();
    const timer = setTimeout(readAgain, HISTORY_MS);
    return () => clearTimeout(timer);
  }, [news]);
  const added = more.value?.about === about ? more.value.page : null;
  return (
    <Read of={first}>
      {(page) => {
        const cursor = added === null ? page.nextCursor : added.nextCursor;
        const entries = added === null ? page.entries : [...page.entries, ...added.entries];
        const readMore = async () => {
          const next = await read(cursor);
          const before = added?.entries ?? [];
          more.value = { about, page: { ...next, entries: [...before, ...next.entries] } };
        };
        return (
          <>
            {children(entries)}
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
