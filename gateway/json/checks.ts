/**
 * Checks client input from HTTP and the stream, in one order: unknown fields and long lists,
 * duplicate keys, numbers that a double cannot hold, then the schema.
 *
 * Invariant: the first failed check ends checking, and reports at most three problems, so invalid
 * text costs no more than the largest valid request.
 */
import { z } from 'zod';
import { inexactNumber } from './decimal.js';
import {
  addProblem,
  cut,
  type FieldProblems,
  fieldProblems,
  PROBLEMS_MAX,
  problemText,
} from './problems.js';
import { repeatedKey } from './repeated-key.js';

export interface ReceivedJson {
  json: unknown;
  text: string;
  colons: number;
}

/** Reports fields that other fields require, because a schema skips such rules after a problem. */
export type Missing = (input: object, problem: (name: string, message: string) => void) => void;

type Checked<Schema extends z.ZodType> =
  | { value: z.output<Schema>; problems: null }
  | { problems: FieldProblems };

export function checkJson<Schema extends z.ZodType>(
  schema: Schema,
  { json, text, colons }: ReceivedJson,
  whole: string,
  missing?: Missing,
): Checked<Schema> {
  const excess = excessIn(schema, json);
  if (excess !== null) return { problems: fieldProblems(excess, whole) };
  const repeated = repeatedKey(json, text, colons);
  if (repeated !== null) return { problems: { [repeated]: 'is duplicated' } };
  const inexact = inexactNumber(text);
  if (inexact !== null)
    return { problems: { [whole]: `contains a number with too many digits: ${cut(inexact)}` } };
  return checkKnown(schema, json, whole, missing);
}

export function checkFields<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  whole: string,
  missing?: Missing,
): Checked<Schema> {
  const excess = excessIn(schema, input);
  if (excess !== null) return { problems: fieldProblems(excess, whole) };
  return checkKnown(schema, input, whole, missing);
}

function checkKnown<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  whole: string,
  missing?: Missing,
): Checked<Schema> {
  const { value, issues } = run(schema, input);
  if (issues.length === 0) return { value: value as z.output<Schema>, problems: null };
  const problems = fieldProblems(issues, whole);
  if (typeof input === 'object' && input !== null)
    missing?.(input, (name, message) => addProblem(problems, name, message));
  return { problems };
}

const CONTEXT = { async: false, error: problemText } as const;

/** Like safeParse, but returns only the first problems. */
function run(schema: z.ZodType, input: unknown): { value: unknown; issues: z.core.$ZodIssue[] } {
  const result = schema._zod.run({ value: input, issues: [] }, CONTEXT);
  if (result instanceof Promise) throw new Error('a schema of a request waits');
  const issues = result.issues
    .slice(0, PROBLEMS_MAX)
    .map((issue) => z.core.util.finalizeIssue(issue, CONTEXT, z.core.config()));
  return { value: result.value, issues };
}

/** Returns problems that prevent running the schema (unknown fields, a long list), or `null`. */
function excessIn(wrapped: z.ZodType, input: unknown): z.core.$ZodIssue[] | null {
  if (typeof input !== 'object' || input === null) return null;
  const schema = unwrapped(wrapped);
  if (schema instanceof z.ZodArray)
    return Array.isArray(input) ? excessInList(schema, input) : null;
  const fields = fieldsOf(schema, input as Record<string, unknown>);
  if (fields === null) return null;
  const keys: string[] = [];
  for (const key in input)
    if (!Object.hasOwn(fields, key) && keys.push(key) === PROBLEMS_MAX) break;
  if (keys.length > 0)
    return [{ code: 'unrecognized_keys', keys, path: [], message: '', input: {} }];
  for (const [key, value] of Object.entries(input)) {
    const found = excessIn(fields[key] as z.ZodType, value);
    if (found !== null) return under(key, found);
  }
  return null;
}

function excessInList(schema: z.ZodArray, list: unknown[]): z.core.$ZodIssue[] | null {
  const rules = schema.def.checks?.map(({ _zod }) => _zod.def as LengthRule);
  const longest = rules?.find(({ check }) => check === 'max_length');
  if (longest !== undefined && list.length > longest.maximum) {
    const message = longest.error?.() ?? 'has too many entries';
    return [{ code: 'custom', path: [], message, input: [] }];
  }
  for (const [index, element] of list.entries()) {
    const found = excessIn(schema.element as z.ZodType, element);
    if (found !== null) return under(index, found);
  }
  return null;
}

interface LengthRule {
  check: string;
  maximum: number;
  error?: () => string;
}

function under(key: string | number, issues: z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  return issues.map((issue) => ({ ...issue, path: [key, ...issue.path] }));
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const { innerType } = schema.def as { innerType?: z.ZodType };
  return innerType === undefined ? schema : unwrapped(innerType);
}

/** Returns the fields that an object may have; `null` if unknown or not an object schema. */
function fieldsOf(schema: z.ZodType, input: Record<string, unknown>): z.ZodRawShape | null {
  if (schema instanceof z.ZodObject) return schema.shape;
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return null;
  const { discriminator } = schema.def;
  const named = input[discriminator] as z.core.util.Primitive;
  for (const option of schema.options as z.ZodObject[])
    if (option.shape[discriminator]!._zod.values?.has(named) === true) return option.shape;
  return null;
}
