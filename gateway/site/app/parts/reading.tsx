/**
 * Data that a view reads from the exchange once, and again on request: its state as a signal, and
 * what to show until it has arrived.
 */
import { type ReadonlySignal, useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef } from 'preact/hooks';
import { connection, sentenceOf } from '../model/exchange.js';

export interface Reading<Value> {
  /** null: not read yet. The old value stays while it is read again. */
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
  // Repeat a failed read when the exchange is back.
  useSignalEffect(() => {
    if (connection.value === 'live' && problem.peek() !== '') void again();
  });
  const set = (next: Value) => {
    value.value = next;
  };
  return { value, problem, again, set };
}

/** Shows the value, or the reason why it is missing. */
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
          Try again
        </button>
      </p>
    );
  if (value.value === null) return <p class="nothing">Loading</p>;
  return <>{props.children(value.value)}</>;
}
