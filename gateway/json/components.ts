/** Schemas with a name, under which the description of the API refers to them. */
import { z } from 'zod';

export type Components = z.core.$ZodRegistry<{ id: string }>;

/** Of response bodies. */
export const RESPONSES: Components = z.registry();
/** Of request bodies. */
export const BODIES: Components = z.registry();

export function responseSchema<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  return named(RESPONSES, name, schema);
}

export function bodySchema<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  return named(BODIES, name, schema);
}

function named<Schema extends z.ZodType>(
  components: Components,
  name: string,
  schema: Schema,
): Schema {
  if (names.has(name)) throw new Error(`two schemas are named ${name}`);
  names.add(name);
  components.add(schema, { id: name });
  return schema;
}

const names = new Set<string>();
