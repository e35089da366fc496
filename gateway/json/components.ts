/** Named schemas, to which the API's description refers. */
import { z } from 'zod';

export type Components = z.core.$ZodRegistry<{ id: string }>;

export const RESPONSES: Components = z.registry();
export const BODIES: Components = z.registry();

export const TEXTS = new Map<string, string>();

const known = new Map<Components, z.ZodType[]>();

export const responseSchema = naming(RESPONSES);
export const bodySchema = naming(BODIES);
export const responseObject = namingObject(responseSchema);
export const bodyObject = namingObject(bodySchema);

function naming(components: Components) {
  return <Schema extends z.ZodType>(name: string, text: string, schema: Schema): Schema => {
    if (TEXTS.has(name)) throw new Error(`two schemas are named ${name}`);
    TEXTS.set(name, text);
    components.add(schema, { id: name });
    known.set(components, [...(known.get(components) ?? []), schema]);
    return schema;
  };
}

function namingObject(named: typeof responseSchema) {
  return <Shape extends z.ZodRawShape>(name: string, text: string, shape: Shape) =>
    named(name, text, z.strictObject(shape));
}

export function withMore(components: Components, more: Record<string, z.ZodType>): Components {
  const all: Components = z.registry();
  for (const schema of known.get(components) ?? []) all.add(schema, components.get(schema)!);
  for (const [id, schema] of Object.entries(more)) all.add(schema, { id });
  return all;
}
