/**
 * Variables of the environment that the exchange does not have, but that look like one of its own:
 * probably misspelt, and without effect. Others belong to other programs.
 */
import { VARIABLE_NAMES } from './config.js';

/** Shorter names differ from those of other programs by a letter or two: HOUSE, HOME. */
const LETTERS_MIN = 8;

/** The name of each, and of the variable that it looks like. */
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

/** The letters to be replaced, added or taken out (Levenshtein's distance). */
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
