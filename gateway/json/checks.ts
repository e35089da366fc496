/**
 * Checks what clients send, over HTTP and over the stream, in one order: duplicate keys, numbers
 * that a double cannot hold, and the schema.
 */
import type { z } from 'zod';
import { inexactNumber } from './decimal.js';
import { addProblem, cut, type FieldProblems, fieldProblems, problemText } from './problems.js';
import { repeatedKey } from './repeated-key.js';

/** JSON as it was sent. */
export interface ReceivedJson {
  json: unknown;
  text: string;
  colons: number;
}

/** Reports fields that are required because of others: a schema checks no rules across fields. */
export type Missing = (input: object, problem: (name: string, message: string) => void) => void;

type Checked<Schema extends z.ZodType> =
  | { value: z.output<Schema>; problems: null }
  | { problems: FieldProblems };

/** `whole` names what was sent, for problems of no field. */
export function checkJson<Schema extends z.ZodType>(
  schema: Schema,
  { json, text, colons }: ReceivedJson,
  whole: string,
  missing?: Missing,
): Checked<Schema> {
  const repeated = repeatedKey(json, text, colons);
  if (repeated !== null) return { problems: { [repeated]: 'is duplicated' } };
  const inexact = inexactNumber(text);
  if (inexact !== null)
    return { problems: { [whole]: `contains a number with too many digits: ${cut(inexact)}` } };
  return checkFields(schema, json, whole, missing);
}

export function checkFields<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  whole: string,
  missing?: Missing,
): Checked<Schema> {
  const parsed = schema.safeParse(input, { error: problemText });
  if (parsed.success) return { value: parsed.data, problems: null };
  const problems = fieldProblems(parsed.error, whole);
  if (typeof input === 'object' && input !== null)
    missing?.(input, (name, message) => addProblem(problems, name, message));
  return { problems };
}
