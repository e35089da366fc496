/** Settings stored in this browser. Without storage, they last as long as the page. */
import { effect, type Signal, signal } from '@preact/signals';

export function kept<Value extends string>(
  name: string,
  standard: Value,
  allowed?: readonly Value[],
): Signal<Value> {
  const found = read(name) as Value | null;
  const isKnown = found !== null && (allowed === undefined || allowed.includes(found));
  const value = signal(isKnown ? found : standard);
  effect(() => write(name, value.value));
  return value;
}

export function keptList<Entry>(name: string): Signal<readonly Entry[]> {
  const text = kept<string>(name, '[]');
  const list = signal<readonly Entry[]>(parsed(text.peek()));
  effect(() => {
    text.value = JSON.stringify(list.value);
  });
  return list;
}

function parsed(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return [];
  }
}

function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Storage is unavailable.
  }
}
