/**
 * JSON Schemas, generated from the zod schemas that check requests and describe answers. A schema
 * that a module exports is a component named after its export; any other is inlined.
 *
 * Requests are described as clients send them: a price as dollars, although the gateway uses ticks.
 */
import { z } from 'zod';
import * as answers from '../json/answers.js';
import * as requests from '../json/requests.js';
import { BatchBody } from '../resources/batch/requests.js';
import type { JsonSchema } from './openapi.js';

type Direction = 'input' | 'output';

const REFERENCE = '#/components/schemas/';

/** All named schemas, and references to them. */
export class Schemas {
  readonly components: Record<string, JsonSchema> = {};
  private readonly names = new Map<z.ZodType, string>();

  /** `bodies`: the request bodies of all routes. */
  constructor(bodies: ReadonlySet<z.ZodType>) {
    const named = Object.entries({ ...requests, BatchBody }).filter(([, schema]) =>
      bodies.has(schema as never),
    );
    this.addComponents(answers, 'output');
    this.addComponents(Object.fromEntries(named), 'input');
  }

  /** The schema of all errors. */
  get errorBody(): JsonSchema {
    return this.of(answers.ErrorBody, 'output');
  }

  /** A reference if the schema has a name, else the schema itself. */
  of(schema: z.ZodType, direction: Direction): JsonSchema {
    const name = this.names.get(schema);
    return name === undefined ? written(schema, direction) : { $ref: REFERENCE + name };
  }

  private addComponents(schemas: object, direction: Direction): void {
    const registry = z.registry<{ id: string }>();
    for (const [name, schema] of Object.entries(schemas)) {
      if (!(schema instanceof z.ZodType)) continue;
      if (name in this.components) throw new Error(`two schemas are called ${name}`);
      registry.add(schema, { id: name });
      this.names.set(schema, name);
    }
    const uri = (name: string) => REFERENCE + name;
    const made = z.toJSONSchema(registry, { io: direction, uri, override: mend });
    for (const [name, schema] of Object.entries(made.schemas)) this.components[name] = withoutHead(schema);
  }
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

/**
 * Removes what zod adds without need, and restores defaults that it loses in conversions of units.
 */
function mend({ zodSchema, jsonSchema }: Written): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.type === 'number' && jsonSchema.multipleOf === 1) {
    jsonSchema.type = 'integer';
    delete jsonSchema.multipleOf;
  }
  // A number in a query string is first checked as text.
  if (jsonSchema.type === 'number' || jsonSchema.type === 'integer') delete jsonSchema.pattern;
  const { default: standard } = z.globalRegistry.get(zodSchema) ?? {};
  if (standard !== undefined) jsonSchema.default = standard;
}
