/** A request's problems by field, worded for client authors. */
import type { z } from 'zod';

export type FieldProblems = Record<string, string>;

export class Problems {
  found: FieldProblems | null = null;

  readonly add = (name: string, problem: string): void => {
    this.found ??= {};
    addProblem(this.found, name, problem);
  };
}

export const PROBLEMS_MAX = 3;

/** Error messages repeat at most this much of a client's text. */
const REPEATED_CHARACTERS_MAX = 40;

export function cut(text: string, max = REPEATED_CHARACTERS_MAX): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}

/** Messages for zod's own checks. A message in a schema takes precedence. */
export function problemText(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined && issue.code !== 'unrecognized_keys') return 'is required';
  if (issue.code === 'invalid_type') {
    if (issue.expected === 'number' && typeof issue.input === 'number')
      return 'must be a finite number';
    return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`;
  }
  if (issue.code === 'too_big' && typeof issue.input === 'number')
    return `must be at most ${issue.maximum}`;
  if (issue.code === 'too_small' && typeof issue.input === 'number')
    return `must be at least ${issue.minimum}`;
  if (issue.code === 'invalid_value') {
    const { values } = issue as { values?: unknown[] };
    return `must be ${values?.join(' or ')}`;
  }
  // The field that selects between the forms of an object.
  if (issue.code === 'invalid_union' && Array.isArray(issue.options)) {
    return `must be ${issue.options.join(' or ')}`;
  }
  return undefined;
}

/** `whole` names the input, for problems that are not about a field. */
export function fieldProblems(issues: readonly z.core.$ZodIssue[], whole: string): FieldProblems {
  const problems: FieldProblems = {};
  for (const issue of issues) {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys)
        addProblem(problems, [...path, key].join('.'), 'is not a known field');
    } else {
      addProblem(problems, path.length === 0 ? whole : path.join('.'), issue.message);
    }
  }
  return problems;
}

export function addProblem(problems: FieldProblems, name: string, problem: string): void {
  if (Object.hasOwn(problems, name)) return;
  // A plain assignment would lose a field named __proto__.
  Object.defineProperty(problems, name, { value: problem, enumerable: true });
}
