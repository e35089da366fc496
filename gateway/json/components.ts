/** Schemas with a name, under which the description of the API refers to them. */
import { z } from 'zod';

export type Components = z.core.$ZodRegistry<{ id: string }>;

/** Schemas of response bodies. */
export const RESPONSES: Components = z.registry();
/** Schemas of request bodies. */
export const BODIES: Components = z.registry();

/** What each of them is, by name. */
export const TEXTS = new Map<string, string>();

export function responseSchema<Schema extends z.ZodType>(
  name: string,
  text: string,
  schema: Schema,
): Schema {
  return named(RESPONSES, name, text, schema);
}

export function bodySchema<Schema extends z.ZodType>(
  name: string,
  text: string,
  schema: Schema,
): Schema {
  return named(BODIES, name, text, schema);
}

function named<Schema extends z.ZodType>(
  components: Components,
  name: string,
  text: string,
  schema: Schema,
): Schema {
  if (TEXTS.has(name)) throw new Error(`two schemas are named ${name}`);
  TEXTS.set(name, text);
  components.add(schema, { id: name });
  known.set(components, [...(known.get(components) ?? []), schema]);
  return schema;
}

const known = new Map<Components, z.ZodType[]>();

/** The components and more schemas, by name. */
export function withMore(components: Components, more: Record<string, z.ZodType>): Components {
  const all: Components = z.registry();
  for (const schema of known.get(components) ?? []) all.add(schema, components.get(schema)!);
  for (const [id, schema] of Object.entries(more)) all.add(schema, { id });
  return all;
}
