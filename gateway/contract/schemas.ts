/**
 * JSON Schemas, generated from the zod schemas that check requests and write responses. A schema
 * with a name (json/components.ts) is a component; any other is inlined.
 *
 * Requests are described as clients send them: a price as dollars, although the gateway uses ticks.
 */
import { z } from 'zod';
import { ErrorBody } from '../http/errors.js';
import { BODIES, type Components, RESPONSES } from '../json/components.js';
import { described } from './descriptions.js';
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
  const entries = Object.entries(schemas).map(([name, schema]) => [name, described(name, schema)]);
  return Object.fromEntries(entries);
}

/** The schemas of a registry by name, in alphabetical order, with references to each other. */
export function jsonSchemasOf(
  registry: Components,
  io: Direction,
  target: 'draft-2020-12' | 'draft-7',
): Record<string, JsonSchema> {
  const uri = (name: string) => REFERENCE + name;
  const { schemas } = z.toJSONSchema(registry, { io, uri, target, override: mend });
  const names = Object.keys(schemas).sort();
  return Object.fromEntries(names.map((name) => [name, withoutHead(schemas[name]!)]));
}

/** The inlined schema; for query strings, whose fields become parameters. */
export function written(schema: z.ZodType, direction: Direction): JsonSchema {
  return withoutHead(z.toJSONSchema(schema, { io: direction, override: mend }));
}

/** The document states the dialect once, and a component's key is its name. */
function withoutHead({ $schema, $id, ...schema }: JsonSchema): JsonSchema {
  return schema;
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
