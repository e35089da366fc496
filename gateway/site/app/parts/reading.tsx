/**
 * Data that a view reads from the exchange once, and again on request: its state as a signal, and a
 * placeholder until it has arrived.
 */
import { type ReadonlySignal, useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef } from 'preact/hooks';
import { connection, sentenceOf } from '../model/exchange.js';
import { t } from '../words/words.js';
import { Action } from './action.js';
import { Panel, Table, type TableProps, type TableRow } from './panel.js';

export interface Reading<Value> {
  /** `null` until read. The old value stays during another read. */
  value: ReadonlySignal<Value | null>;
  problem: ReadonlySignal<string>;
  again: () => Promise<void>;
  set: (value: Value) => void;
}

/** Reads again when `about` changes. Only the latest read counts. */
export function useReading<Value>(read: () => Promise<Value>, about: string): Reading<Value> {
  const value = useSignal<Value | null>(null);
  const problem = useSignal('');
  const latest = useRef(0);
  const reader = useRef(read);
  reader.current = read;
  const again = useCallback(async () => {
    const number = ++latest.current;
    try {
      const answer = await reader.current();
      if (number !== latest.current) return;
      value.value = answer;
      problem.value = '';
    } catch (error) {
      if (number === latest.current) problem.value = sentenceOf(error);
    }
  }, [value, problem]);
  useEffect(() => {
    value.value = null;
    void again();
    return () => {
      latest.current++;
    };
  }, [about, again, value]);
  // Repeats a failed read when the exchange is back.
  useSignalEffect(() => {
    if (connection.value === 'live' && problem.peek() !== '') void again();
  });
  const set = (next: Value) => {
    value.value = next;
  };
  return { value, problem, again, set };
}

export function Read<Value>(props: {
  of: Reading<Value>;
  children: (value: Value) => ComponentChildren;
}) {
  const { value, problem, again } = props.of;
  if (problem.value !== '')
    return (
      <p class="nothing" role="alert">
        {problem.value}{' '}
        <button type="button" class="link" onClick={() => void again()}>
          {t('Try again')}
        </button>
      </p>
    );
  if (value.value === null) return <p class="nothing">{t('Loading')}</p>;
  return <>{props.children(value.value)}</>;
}

/** After this time, the exchange's history contains what the page has just shown. */
const HISTORY_MS = 1_000;

interface Page {
  nextCursor: string | null;
}

interface PagedProps<List extends string, Of extends Page & Record<List, readonly unknown[]>>
  extends Omit<TableProps, 'rows' | 'label'> {
  title: string;
  extra?: ComponentChildren;
  /** Identifies the list. A change starts from the first page. */
  about: string;
  /** The list's field in a page. */
  list: List;
  read: (cursor: string | null) => Promise<Of>;
  /** A change announces new entries: the list is read again unless more pages were loaded. */
  news?: unknown;
  rows: (entries: Of[List]) => TableRow[];
}

/** A panel with a table that is read page by page. */
export function Paged<List extends string, Of extends Page & Record<List, readonly unknown[]>>(
  props: PagedProps<List, Of>,
) {
  const { title, extra, about, list, read, news, rows, ...table } = props;
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
    <Panel title={title} extra={extra}>
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
              <Table {...table} label={title} rows={rows(entries)} />
              {cursor !== null && (
                <p class="more">
                  <Action run={readMore}>{t('More')}</Action>
                </p>
              )}
            </>
          );
        }}
      </Read>
    </Panel>
  );
}
