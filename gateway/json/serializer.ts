/**
 * Writes responses as JSON text, with functions that fast-json-stringify compiles from zod schemas.
 *
 * Always holds: a text has the fields of its schema, in the schema's order. Numbers that are not
 * integers come as {@link Decimal}, because a double cannot hold every amount of micros.
 */
import fastJsonStringify, { type Schema as CompilableSchema } from 'fast-json-stringify';
import { z } from 'zod';
import type { Decimal, DecimalBrand } from './decimal.js';

/** A value of a schema before it is written. */
export type Unwritten<Value> = Value extends DecimalBrand
  ? Decimal
  : Value extends object
    ? { [Key in keyof Value]: Unwritten<Value[Key]> }
    : Value;

/** What a response of the schema is written from. */
export type Writable<Schema extends z.ZodType> = Unwritten<z.output<Schema>>;

/** The function that writes values of the schema. */
export function serializer<Schema extends z.ZodType>(
  schema: Schema,
): (value: Writable<Schema>) => string {
  return fastJsonStringify(compilable(z.toJSONSchema(schema)) as CompilableSchema);
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** What fast-json-stringify has to know of a schema. */
function compilable(schema: JsonSchema): object {
  const { type, anyOf, items } = schema;
  if (anyOf !== undefined) return union(anyOf);
  if (schema.const !== undefined) return { const: schema.const };
  switch (type) {
    case 'number':
      // Without a type a value goes to JSON.stringify, which writes raw JSON as it is.
      return {};
    case 'array':
      return { type, items: compilable(items as JsonSchema) };
    case 'object':
      return { ...objectParts(schema), type };
    default:
      return { type };
  }
}

function union(options: readonly JsonSchema[]): object {
  const others = options.filter(({ type }) => type !== 'null');
  if (others.length === 1) return { ...compilable(others[0]!), nullable: true };
  return { anyOf: options.map(compilable) };
}

/** @throws if a required field follows an optional one: the library would write it first. */
function objectParts({ properties = {}, required = [], additionalProperties }: JsonSchema): object {
  const names = Object.keys(properties);
  const misplaced = names.slice(0, required.length).find((name) => !required.includes(name));
  if (misplaced !== undefined) throw new Error(`the optional field ${misplaced} must come last`);
  const fields = names.map((name) => [name, compilable(properties[name] as JsonSchema)]);
  return { properties: Object.fromEntries(fields), required, additionalProperties };
}
