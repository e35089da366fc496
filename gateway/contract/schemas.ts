/**
 * JSON Schemas from the zod schemas that check requests and describe answers. A schema that a module exports is a component
 * under the name of its export, and others refer to it; any other is written out where it stands.
 *
 * Requests are described as they come in: a price as a number of dollars, although the gateway works with ticks.
 */
import { z } from 'zod';
import * as answers from '../json/answers.js';
import * as requests from '../json/requests.js';
import { BatchBody } from '../resources/batch/requests.js';
import type { JsonSchema } from './openapi.js';

type Direction = 'input' | 'output';

const REFERENCE = '#/components/schemas/';

/** All named schemas, and what refers to them. */
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

  /** The form of all errors. */
  get errorBody(): JsonSchema {
    return this.of(answers.ErrorBody, 'output');
  }

  /** A reference where the schema has a name. */
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

/** With all that it is made of in place; for query strings, whose fields become parameters. */
export function written(schema: z.ZodType, direction: Direction): JsonSchema {
  return withoutHead(z.toJSONSchema(schema, { io: direction, override: mend }));
}

/** The document states the dialect once, and where a schema stands is its name. */
function withoutHead({ $schema, $id, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

interface Written {
  zodSchema: z.core.$ZodType;
  jsonSchema: JsonSchema;
}

/** What zod writes and no reader needs, and what it leaves out because the value behind is in other units. */
function mend({ zodSchema, jsonSchema }: Written): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.type === 'number' && jsonSchema.multipleOf === 1) {
    jsonSchema.type = 'integer';
    delete jsonSchema.multipleOf;
  }
  // A number in a query string is checked as text first.
  if (jsonSchema.type === 'number' || jsonSchema.type === 'integer') delete jsonSchema.pattern;
  const { default: standard } = z.globalRegistry.get(zodSchema) ?? {};
  if (standard !== undefined) jsonSchema.default = standard;
}
