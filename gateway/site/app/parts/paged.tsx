/** A list of the exchange that is read page by page. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Action } from './action.js';
import { Read, useReading } from './reading.js';

export interface Page<Entry> {
  entries: readonly Entry[];
  nextCursor: string | null;
}

export function Paged<Entry>(props: {
  /** What is listed: another list starts from its beginning. */
  about: string;
  read: (cursor: string | null) => Promise<Page<Entry>>;
  children: (entries: readonly Entry[]) => ComponentChildren;
}) {
  const { about, read, children } = props;
  const first = useReading(() => read(null), about);
  const more = useSignal<{ about: string; page: Page<Entry> } | null>(null);
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
