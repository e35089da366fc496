/**
 * Random values that match a JSON Schema: fast-check arbitraries generated from the contract's
 * schemas. An unknown keyword is an error, so that none is silently ignored.
 */

import fc from 'fast-check';
import type { JsonSchema, OpenApiDocument } from '../../../gateway/contract/openapi.js';
import { DECIMAL_PLACES, RULES } from '../../../gateway/json/fields.js';

/** Whether a value matches a schema. */
export type Fits = (schema: JsonSchema, value: unknown) => boolean;

const KNOWN = new Set([
  ...[
    '$ref',
    'type',
    'format',
    'enum',
    'const',
    'default',
    'description',
    'properties',
    'required',
    'additionalProperties',
  ],
  ...['oneOf', 'anyOf', 'discriminator', RULES, 'items', 'minItems', 'maxItems', 'pattern', 'not'],
  ...['minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', DECIMAL_PLACES],
]);

/**
 * If the largest value is more than this multiple of the smallest, all orders of magnitude are
 * equally likely.
 */
const WIDE = 100_000;

export class Arbitraries {
  constructor(
    private readonly document: OpenApiDocument,
    private readonly fits: Fits,
  ) {}

  of(schema: JsonSchema): fc.Arbitrary<unknown> {
    const unknown = Object.keys(schema).find((keyword) => !KNOWN.has(keyword));
    if (unknown !== undefined)
      throw new Error(`the generator does not support the keyword ${unknown}`);
    if (schema.$ref !== undefined)
      return this.of(this.document.components.schemas[schema.$ref.split('/').at(-1)!]!);
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    if (schema.type === 'object') return this.object(schema);
    const choices = schema.oneOf ?? schema.anyOf;
    if (choices !== undefined)
      return fc.oneof(...choices.map((choice) => this.of(choice as JsonSchema)));
    if (schema.type === 'array') return this.array(schema);
    if (schema.type === 'string') return text(schema);
    if (schema.type === 'boolean') return fc.boolean();
    if (schema.type === 'number' || schema.type === 'integer')
      return schema.not === undefined
        ? number(schema)
        : number(schema).filter((value) => this.fits(schema, value));
    throw new Error(`the generator does not support ${JSON.stringify(schema)}`);
  }

  /** Rules between fields are few, so values that break one are discarded. */
  private object(schema: JsonSchema): fc.Arbitrary<unknown> {
    const { properties = {}, required = [] } = schema;
    const model = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, this.of(property as JsonSchema)]),
    );
    const values = fc.record(model, { requiredKeys: required, noNullPrototype: true });
    return schema[RULES] !== undefined
      ? values.filter((value) => this.fits(schema, value))
      : values;
  }

  private array({ items, minItems = 0, maxItems = 10 }: JsonSchema): fc.Arbitrary<unknown> {
    const entry = this.of(items as JsonSchema);
    const few = fc.array(entry, {
      minLength: minItems,
      maxLength: Math.min(maxItems, minItems + 4),
    });
    const many = fc.array(entry, { minLength: minItems, maxLength: maxItems, size: 'max' });
    return fc.oneof({ weight: 9, arbitrary: few }, { weight: 1, arbitrary: many });
  }
}

function text({ pattern, minLength = 0, maxLength = 40 }: JsonSchema): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  const units = ['grapheme-ascii', 'binary'] as const;
  return fc.oneof(...units.map((unit) => fc.string({ unit, minLength, maxLength, size: 'max' })));
}

/** Numbers are drawn in steps, so that they are decimals with the right number of places. */
function number({
  type,
  minimum,
  exclusiveMinimum,
  maximum,
  [DECIMAL_PLACES]: places = type === 'integer' ? 0 : 3,
}: JsonSchema): fc.Arbitrary<number> {
  const step = 10 ** -(places as number);
  const smallest = Math.max(
    Math.round((minimum ?? 0) / step),
    exclusiveMinimum === undefined ? 0 : 1,
  );
  const largest = Math.round((maximum ?? 1_000_000) / step);
  const within = (most: number) => fc.integer({ min: smallest, max: Math.max(smallest, most) });
  const steps =
    largest / Math.max(smallest, 1) < WIDE
      ? within(largest)
      : fc
          .integer({ min: 1, max: Math.floor(Math.log10(largest)) })
          .chain((digits) => within(10 ** digits));
  const edges = fc.constantFrom(smallest, largest);
  return fc
    .oneof({ weight: 19, arbitrary: steps }, { weight: 1, arbitrary: edges })
    .map((count) => Number((count * step).toFixed(places as number)));
}
