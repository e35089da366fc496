/**
 * A quick check for large bodies. Ajv compiles the JSON Schema of a zod schema to one function, which tells in less than half of zod's time, and
 * without making an object for every field, that a value is what the schema takes.
 *
 * Always holds: there is one schema, zod's. What the check lets through, zod lets through as it is; what it does not is zod's to judge, and to
 * say what is wrong with. A schema that does more than JSON Schema can say (a transform, a refinement) is not compiled.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';

/** Of the schemas that JSON Schema says all about. */
const PLAIN_TYPES: ReadonlySet<string> = new Set([
  'array',
  'boolean',
  'enum',
  'literal',
  'number',
  'object',
  'optional',
  'string',
  'union',
]);

/** @throws Error when the schema does what JSON Schema cannot say. */
export function quickCheck(schema: z.ZodType): (value: unknown) => boolean {
  // What is said about a schema for readers of the API does not count, so without the registry that has it.
  const jsonSchema = z.toJSONSchema(schema, { io: 'input', metadata: z.registry(), override: prepare });
  // zod writes sound schemas; to compile the schema of schemas, only to see that, took a sixth of a start's time.
  const options = { discriminator: true, strict: true, strictRequired: false, validateSchema: false };
  return new Ajv2020(options).compile(jsonSchema);
}

interface Written {
  zodSchema: z.core.$ZodType;
  jsonSchema: z.core.JSONSchema.BaseSchema;
}

function prepare({ zodSchema, jsonSchema }: Written): void {
  const { def } = zodSchema._zod;
  const checks = def.checks ?? [];
  if (!PLAIN_TYPES.has(def.type) || checks.some((check) => check._zod.def.check === 'custom')) {
    throw new Error(`a schema of type ${def.type} does more than JSON Schema can say`);
  }
  // Tells Ajv to look at the one option that can fit.
  if (zodSchema instanceof z.ZodDiscriminatedUnion) {
    const { discriminator } = zodSchema.def;
    Object.assign(jsonSchema, { type: 'object', discriminator: { propertyName: discriminator } });
    jsonSchema.required = [discriminator];
  }
}
