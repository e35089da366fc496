/**
 * Plans of random requests, generated from the contract alone: an operation and values that match
 * its schemas. The user, market, order and deposit are filled in when the request is made.
 */
import fc from 'fast-check';
import type {
  JsonSchema,
  OpenApiDocument,
  Operation,
  Parameter,
} from '../../../gateway/contract/openapi.js';
import { operationsOf } from '../../gateway/contract/check.js';
import { Arbitraries, type Fits } from './arbitraries.js';

export interface Plan {
  /** The method, in upper case. */
  method: string;
  /** The path template, as in the document. */
  template: string;
  operation: Operation;
  path: Record<string, string>;
  query: {
    [name: string]: unknown;
    cursor?: unknown;
    asset?: unknown;
    userId?: unknown;
    side?: unknown;
    fromMs?: unknown;
    toMs?: unknown;
  };
  /** Headers that the document describes. */
  headers: Record<string, unknown>;
  /** The body; undefined if the request has none. */
  body: unknown;
  /** The seed of the remaining choices. */
  seed: number;
}

/**
 * How often an operation is used: trading often, password hashing rarely. Claims of a deposit are
 * frequent, since it earns only with time.
 */
function weightOf(template: string, method: string): number {
  if (template.startsWith('/auth/tokens')) return 6;
  if (template.startsWith('/auth/')) return template === '/auth/session' ? 4 : 1;
  if (/\/(buy|sell|batch)$/.test(template)) return 40;
  if (template.endsWith('/unstake')) return 2;
  // Few amendments succeed, because the order must still rest.
  if (method === 'patch') return 20;
  if (template.endsWith('/claim')) return 40;
  return method === 'get' ? 6 : 10;
}

/** All operations but the stream, which has another protocol. */
export function randomPlans(document: OpenApiDocument, fits: Fits): fc.Arbitrary<Plan> {
  const arbitraries = new Arbitraries(document, fits);
  const plans = operationsOf(document)
    .filter(({ path }) => path !== '/stream')
    .map(({ path, method, operation }) => ({
      weight: weightOf(path, method),
      arbitrary: planOf(arbitraries, { template: path, method: method.toUpperCase(), operation }),
    }));
  return fc.oneof(...plans);
}

/** A sequence that has been reached: a read of a later one waits and is then refused. */
const MIN_SEQUENCE = /^min-?sequence$/i;
const REACHED: JsonSchema = { type: 'integer', minimum: 0, maximum: 5 };

function planOf(
  arbitraries: Arbitraries,
  fixed: Pick<Plan, 'template' | 'method' | 'operation'>,
): fc.Arbitrary<Plan> {
  const { parameters = [], requestBody } = fixed.operation;
  const group = (place: Parameter['in']) => {
    const ofPlace = parameters.filter((parameter) => parameter.in === place);
    const model = Object.fromEntries(
      ofPlace.map(({ name, schema }) => [
        name,
        arbitraries.of(MIN_SEQUENCE.test(name) ? REACHED : schema),
      ]),
    );
    const requiredKeys = ofPlace
      .filter(({ required }) => required === true)
      .map(({ name }) => name);
    return fc.record(model, { requiredKeys, noNullPrototype: true });
  };
  const body =
    requestBody === undefined
      ? fc.constant(undefined)
      : bodyOf(arbitraries, requestBody.content, requestBody.required);
  return fc.record({
    method: fc.constant(fixed.method),
    template: fc.constant(fixed.template),
    operation: fc.constant(fixed.operation),
    path: group('path') as fc.Arbitrary<Record<string, string>>,
    query: group('query'),
    headers: group('header'),
    body,
    seed: fc.nat(),
  });
}

function bodyOf(
  arbitraries: Arbitraries,
  content: Record<string, { schema: JsonSchema }>,
  required: boolean,
): fc.Arbitrary<unknown> {
  const [{ schema } = { schema: {} }] = Object.values(content);
  const value = arbitraries.of(schema);
  return required ? value : fc.oneof(value, fc.constant(undefined));
}
