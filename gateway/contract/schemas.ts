/**
 * JSON Schemas, generated from the zod schemas that check requests and write responses. A schema
 * with a name (json/components.ts) is a component; any other is inlined.
 *
 * Requests are described as clients send them: a price as dollars, although the gateway uses ticks.
 */
import { z } from 'zod';
import { ErrorBody } from '../http/errors.js';
import { BODIES, type Components, RESPONSES, TEXTS } from '../json/components.js';
import type { JsonSchema } from './openapi.js';

export type Direction = 'input' | 'output';

export const REFERENCE = '#/components/schemas/';

/** All named schemas, and references to them. */
export class Schemas {
  readonly components: Record<string, JsonSchema> = {
    ...componentsOf(RESPONSES, 'output'),
    ...componentsOf(BODIES, 'input'),
  };

  /** The schema of all errors; not a reference, because responses narrow it. */
  get errorBody(): JsonSchema {
    return this.components[RESPONSES.get(ErrorBody)!.id]!;
  }

  /** A reference if the schema has a name, else the schema itself. */
  of(schema: z.ZodType, direction: Direction): JsonSchema {
    const name = (direction === 'output' ? RESPONSES : BODIES).get(schema)?.id;
    return name === undefined ? written(schema, direction) : { $ref: REFERENCE + name };
  }
}

function componentsOf(registry: Components, io: Direction): Record<string, JsonSchema> {
  const schemas = jsonSchemasOf(registry, io, 'draft-2020-12');
  for (const [name, schema] of Object.entries(schemas)) schema.description ??= TEXTS.get(name)!;
  return schemas;
}

/** The schemas of a registry by name, in alphabetical order, with references to each other. */
export function jsonSchemasOf(
  registry: Components,
  io: Direction,
  target: 'draft-2020-12' | 'draft-7',
): Record<string, JsonSchema> {
  const uri = (name: string) => REFERENCE + name;
  const override = (at: Written): void => {
    mend(at);
    const { def } = at.zodSchema._zod as { def: { discriminator?: string } };
    if (target === 'draft-2020-12' && def.discriminator !== undefined)
      at.jsonSchema['discriminator'] = { propertyName: def.discriminator };
  };
  const { schemas } = z.toJSONSchema(registry, { io, uri, target, override });
  for (const schema of Object.values(schemas)) addMapping(schema, schemas);
  const names = Object.keys(schemas).sort();
  return Object.fromEntries(names.map((name) => [name, hoisted(withoutHead(schemas[name]!))]));
}

/** Says which value of the property that tells alternatives apart means which of the schemas. */
function addMapping(node: JsonSchema, schemas: Record<string, JsonSchema>): void {
  for (const value of Object.values(node))
    if (typeof value === 'object' && value !== null) addMapping(value as JsonSchema, schemas);
  const { oneOf, discriminator } = node as { oneOf?: JsonSchema[]; discriminator?: Discriminator };
  if (oneOf === undefined || discriminator === undefined) return;
  discriminator.mapping = Object.fromEntries(
    oneOf.map(({ $ref }) => {
      const { properties } = schemas[$ref!.slice(REFERENCE.length)]!;
      return [(properties![discriminator.propertyName] as JsonSchema).const, $ref!];
    }),
  );
}

/** OpenAPI's discriminator. In AsyncAPI, the values would have to be the names of the schemas. */
interface Discriminator {
  propertyName: string;
  mapping: Record<string, string>;
}

/** The inlined schema; for query strings, whose fields become parameters. */
export function written(schema: z.ZodType, direction: Direction): JsonSchema {
  return withoutHead(z.toJSONSchema(schema, { io: direction, override: mend }));
}

/** The document states the dialect once, and a component's key is its name. */
function withoutHead({ $schema, $id, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

/** The description of a field that may be null stands at the field, not at its other value. */
function hoisted(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (_, value) => {
    const [inner, other, more] = value?.anyOf ?? [];
    const isNullable = other?.type === 'null' && more === undefined;
    if (!isNullable || value.description !== undefined || !inner.description) return value;
    const { description, ...rest } = inner;
    return { ...value, anyOf: [rest, other], description };
  });
}

interface Written {
  zodSchema: z.core.$ZodType;
  jsonSchema: JsonSchema;
}

/** Without them, generators take 32 bits, in which no time fits and money is inexact. */
const FORMATS: Record<string, string> = { integer: 'int64', number: 'double' };

/** Removes what zod adds needlessly, restores defaults that it loses, adds formats of numbers. */
function mend({ zodSchema, jsonSchema }: Written): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.type === 'number' && jsonSchema.multipleOf === 1) {
    jsonSchema.type = 'integer';
    delete jsonSchema.multipleOf;
  }
  const format = FORMATS[`${jsonSchema.type}`];
  if (format !== undefined) {
    // A number in a query string is first checked as text.
    delete jsonSchema.pattern;
    jsonSchema.format = format;
  }
  const { default: standard } = z.globalRegistry.get(zodSchema) ?? {};
  if (standard !== undefined) jsonSchema.default = standard;
}
