/** Finds unknown variables that resemble a known one: probably misspelt, without effect. */
import { VARIABLE_NAMES } from './config.js';

/** Shorter names resemble those of other programs, such as HOUSE and HOME. */
const LETTERS_MIN = 8;

/** Pairs: unknown name, known name. */
export function misspelt(environment: Record<string, string | undefined>): [string, string][] {
  const found: [string, string][] = [];
  for (const name of Object.keys(environment)) {
    if (name.length < LETTERS_MIN || !name.includes('_') || VARIABLE_NAMES.includes(name)) continue;
    const like = VARIABLE_NAMES.find((known) => resembles(name, known));
    if (like !== undefined) found.push([name, like]);
  }
  return found;
}

function resembles(name: string, known: string): boolean {
  const hasSameLetters = [...name].sort().join() === [...known].sort().join();
  return firstWords(name) === firstWords(known) || hasSameLetters || edits(name, known) === 1;
}

function firstWords(name: string): string {
  return name.split('_', 2).join('_');
}

function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...to].entries())
      next.push(Math.min(row[j]! + (letter === other ? 0 : 1), row[j + 1]! + 1, next[j]! + 1));
    row = next;
  }
  return row.at(-1)!;
}
