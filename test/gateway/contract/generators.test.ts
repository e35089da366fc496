/**
 * What generators of clients need of the documents. Those for Java, Go, Python and C# cannot run
 * here; these are the rules that their templates depend on.
 */
import { describe, expect, test } from 'vitest';
import type { JsonSchema } from '../../../gateway/contract/openapi.js';
import { programContract } from './check.js';
import { streamDocument } from './stream-check.js';

const DOCUMENTS = { OpenAPI: programContract().document, AsyncAPI: streamDocument() };

interface Place {
  path: string;
  schema: JsonSchema;
}

/** Every object of a document that has a keyword of schemas, outside of examples. */
function schemasIn(node: unknown, path = ''): Place[] {
  if (typeof node !== 'object' || node === null || /\/(examples?|x-[\w-]+)$/.test(path)) return [];
  const inner = Object.entries(node).flatMap(([key, value]) => schemasIn(value, `${path}/${key}`));
  const isSchema = !/\/properties$/.test(path) && ('type' in node || '$ref' in node);
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
});
