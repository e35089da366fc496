/**
 * What client generators need from the documents. Generators for Java, Go, Python and C# cannot run
 * here; these are the rules that their templates depend on.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import openapiTS, { astToString } from 'openapi-typescript';
import { describe, expect, test } from 'vitest';
import type { JsonSchema } from '../../../gateway/contract/openapi.js';
import { asOpenApi30 } from '../../../gateway/contract/openapi-3.0.js';
import { operationsOf, programContract } from './check.js';
import { streamDocument } from './stream-check.js';

const DOCUMENTS = { OpenAPI: programContract().document, AsyncAPI: streamDocument() };

interface Place {
  path: string;
  schema: JsonSchema;
}

const KEYWORDS = ['type', '$ref', 'properties', 'items', 'oneOf', 'anyOf', 'allOf', 'not', 'if'];

/** Every schema of a document with its keywords, except examples and rules across fields. */
function schemasIn(node: unknown, path = ''): Place[] {
  const isOther = /\/(examples?|x-rules|x-limits|payload|messages|mapping)$/.test(path);
  if (typeof node !== 'object' || node === null || isOther) return [];
  const inner = Object.entries(node).flatMap(([key, value]) => schemasIn(value, `${path}/${key}`));
  const isSchema = !path.endsWith('/properties') && KEYWORDS.some((keyword) => keyword in node);
  return isSchema ? [{ path, schema: node as JsonSchema }, ...inner] : inner;
}

describe.each(Object.entries(DOCUMENTS))('%s', (_name, document) => {
  const places = schemasIn(document);

  test('every number has a format: without it, generators take 32 bits', () => {
    const numbers = places.filter(
      ({ schema: { type } }) => type === 'integer' || type === 'number',
    );
    expect(numbers.length).toBeGreaterThan(100);
    const wrong = numbers.filter(
      ({ schema: { type, format } }) => format !== (type === 'integer' ? 'int64' : 'double'),
    );
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  test('an object is a plain list of fields: beside alternatives, templates lose them', () => {
    const composed = [
      'oneOf',
      'anyOf',
      'allOf',
      'not',
      'if',
      'dependentRequired',
      'patternProperties',
    ];
    const objects = places.filter(({ schema }) => schema.properties !== undefined);
    expect(objects.length).toBeGreaterThan(60);
    const wrong = objects.filter(({ schema }) => composed.some((keyword) => keyword in schema));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });
});

describe('OpenAPI 3.0', () => {
  const { document } = programContract();
  const older = asOpenApi30(document);

  test('is valid by the schema of the OpenAPI Initiative', async () => {
    const validator = new Validator();
    const { errors } = await validator.validate(structuredClone(older) as never);
    expect([validator.version, errors ?? []]).toEqual(['3.0', []]);
  });

  test('describes the same types', async () => {
    // Comments and parentheses depend on the keywords used, so ignore both.
    const typesOf = async (source: object) =>
      astToString(await openapiTS(structuredClone(source) as never))
        .replace(/\/\*\*[\s\S]*?\*\//g, '')
        .replace(/[()\s]+/g, ' ');
    expect(await typesOf(older)).toBe(await typesOf(document));
  });
});

describe('OpenAPI', () => {
  const { document } = programContract();
  const { schemas } = document.components;
  const places = schemasIn(document);
  const named = ($ref: string): JsonSchema => schemas[$ref.split('/').at(-1)!]!;

  test('alternatives are null, or named objects that one field tells apart', () => {
    const wrong: string[] = [];
    let count = 0;
    for (const { path, schema } of places) {
      const { oneOf, anyOf, allOf, discriminator } = schema as JsonSchema & {
        discriminator?: { propertyName: string; mapping: Record<string, string> };
      };
      const isNullable = anyOf?.length === 2 && (anyOf[1] as JsonSchema).type === 'null';
      if (allOf !== undefined || (anyOf !== undefined && !isNullable)) wrong.push(path);
      if (oneOf === undefined) continue;
      count++;
      const constants = oneOf.map((option) => {
        const { $ref } = option as JsonSchema;
        const { properties = {}, required = [] } = $ref === undefined ? {} : named($ref);
        const field = discriminator?.propertyName ?? '';
        return required.includes(field) ? [(properties[field] as JsonSchema).const, $ref] : path;
      });
      if (
        JSON.stringify(Object.entries(discriminator?.mapping ?? {})) !== JSON.stringify(constants)
      )
        wrong.push(path);
    }
    expect(count).toBe(4);
    expect(wrong).toEqual([]);
  });

  test('what shows state says at which sequence and time', () => {
    const showsNone = ['DayFiles', 'Digest', 'Health', 'Limits', 'MetricsText', 'Ready', 'Time'];
    const answers = operationsOf(document).flatMap(({ operation }) =>
      Object.entries(operation.responses).flatMap(([status, answer]) => {
        const { $ref } = ('content' in answer && answer.content['application/json']?.schema) || {};
        return status.startsWith('2') && $ref !== undefined ? [$ref as string] : [];
      }),
    );
    expect(new Set(answers).size).toBeGreaterThan(35);
    const timeless = answers.flatMap(($ref) => {
      const options = (named($ref).oneOf as JsonSchema[] | undefined) ?? [{ $ref }];
      const fields = options.map((option) => named(option.$ref as string).properties ?? {});
      const isTimed = fields.every(({ sequence, atMs }) => sequence && atMs);
      return isTimed ? [] : [$ref.split('/').at(-1)!];
    });
    expect(timeless.sort().filter((name) => !showsNone.includes(name))).toEqual([]);
  });

  test('the entries of a list have a name', () => {
    const lists = places.filter(({ schema }) => schema.items !== undefined);
    expect(lists.length).toBeGreaterThan(20);
    const anonymous = lists.filter(({ schema }) => (schema.items as JsonSchema).type === 'object');
    expect(anonymous.map(({ path }) => path)).toEqual([]);
  });

  test('the bodies of requests and successes have names', () => {
    const anonymous = operationsOf(document).flatMap(({ operation }) => {
      const bodies = [operation.requestBody, ...Object.values(operation.responses)];
      return bodies.flatMap((body) => {
        const content = body === undefined || '$ref' in body ? {} : (body.content ?? {});
        const schema = content['application/json']?.schema;
        const isNamed = schema === undefined || schema.$ref !== undefined;
        return isNamed ? [] : [operation.operationId];
      });
    });
    // Documents, and the HTTP answers of a WebSocket's handshake.
    expect([...new Set(anonymous)]).toEqual(['getOpenapiJson', 'getStream']);
  });
});
