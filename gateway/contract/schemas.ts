/**
 * JSON Schemas, generated from the zod schemas. A named schema (json/components.ts) is a component;
 * others are inlined. Requests are as clients send them: prices in dollars, not ticks.
 */
import { z } from 'zod';
import { ErrorBody } from '../commands/errors.js';
import { BODIES, type Components, RESPONSES, TEXTS } from '../json/components.js';
import type { JsonSchema } from './openapi.js';

export type Direction = 'input' | 'output';

export const REFERENCE = '#/components/schemas/';

export class Schemas {
  readonly components: Record<string, JsonSchema> = {
    ...componentsOf(RESPONSES, 'output'),
    ...componentsOf(BODIES, 'input'),
  };

  /** The common error schema. Not a reference, because responses narrow it. */
  get errorBody(): JsonSchema {
    return this.components[RESPONSES.get(ErrorBody)!.id]!;
  }

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

/** By name, alphabetically, with references to each other. */
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

/** OpenAPI's discriminator. AsyncAPI requires the values to be schema names. */
interface Discriminator {
  propertyName: string;
  mapping: Record<string, string>;
}

/** Inlined, for query strings, whose fields become parameters. */
export function written(schema: z.ZodType, direction: Direction): JsonSchema {
  return withoutHead(z.toJSONSchema(schema, { io: direction, override: mend }));
}

/** Removes the dialect, which the document states once, and the id, the component's key. */
function withoutHead({ $schema, $id, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

/** Moves a nullable field's description from its schema to the field itself. */
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

/** Without a format, generators use 32 bits: too few for times, inexact for money. */
const FORMATS: Record<string, string> = { integer: 'int64', number: 'double' };

/** Removes zod's superfluous keywords, restores lost defaults, and adds number formats. */
function mend({ zodSchema, jsonSchema }: Written): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.type === 'number' && jsonSchema.multipleOf === 1) {
    jsonSchema.type = 'integer';
    delete jsonSchema.multipleOf;
  }
  const format = FORMATS[`${jsonSchema.type}`];
  if (format !== undefined) {
    // A number in a query string is first checked as text, which leaves a pattern.
    delete jsonSchema.pattern;
    jsonSchema.format = format;
  }
  const { default: standard } = z.globalRegistry.get(zodSchema) ?? {};
  if (standard !== undefined) jsonSchema.default = standard;
}
