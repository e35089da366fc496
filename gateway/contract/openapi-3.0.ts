/** The same API for tools limited to OpenAPI 3.0.3, without rules across fields. */
import { RULES } from '../json/fields.js';
import type { OpenApiDocument } from './openapi.js';

type Json = null | boolean | number | string | Json[] | JsonObject;
interface JsonObject {
  [key: string]: Json;
}

/** Keys whose content is a value, not a schema, and stays unchanged. */
const VALUES = ['enum', 'default', 'example', 'examples'];

export function asOpenApi30(document: OpenApiDocument): object {
  // Removes undefined values.
  const plain: JsonObject = JSON.parse(JSON.stringify(document));
  delete (plain['info'] as { license: JsonObject }).license['identifier'];
  return { ...objectIn30(plain), openapi: '3.0.3' };
}

function in30(node: Json): Json {
  if (Array.isArray(node)) return node.map(in30);
  return typeof node === 'object' && node !== null ? objectIn30(node) : node;
}

function objectIn30(node: JsonObject): JsonObject {
  const { [RULES]: _rules, propertyNames: _names, ...kept } = node;
  const entries = Object.entries(kept).map(([key, value]): [string, Json] => [
    key,
    VALUES.includes(key) ? value : in30(value),
  ]);
  return withOldKeywords(Object.fromEntries(entries));
}

function withOldKeywords(schema: JsonObject): JsonObject {
  const { type, anyOf, const: constant, exclusiveMinimum } = schema;
  if (Array.isArray(type)) return { ...schema, type: type[0]!, nullable: true };
  if (Array.isArray(anyOf)) return nullable(anyOf[0] as JsonObject, schema);
  if (typeof constant === 'string' || typeof constant === 'number') {
    const { const: _, ...rest } = schema;
    return { ...rest, enum: [constant] };
  }
  if (typeof exclusiveMinimum === 'number')
    return { ...schema, minimum: exclusiveMinimum, exclusiveMinimum: true };
  return schema;
}

/** An enum must also list null. */
function nullable(schema: JsonObject, { anyOf: _, ...rest }: JsonObject): JsonObject {
  const values = Array.isArray(schema['enum']) ? { enum: [...schema['enum'], null] } : {};
  return { ...schema, ...rest, ...values, nullable: true };
}
