/**
 * Checks answers against the API's description: path, method, status, headers, content type, and
 * every field of the body. Anything undescribed is an error.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { buildDocument } from '../../../gateway/contract/document.js';
import type {
  OpenApiDocument,
  Operation,
  PathItem,
  Reference,
  Response,
} from '../../../gateway/contract/openapi.js';
import { DECIMAL_PLACES, RULES } from '../../../gateway/json/fields.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { programVersion } from '../../../persistence/storage/program-folder.js';

/** Keywords outside JSON Schema. */
export const RULES_KEYWORD = { keyword: RULES, macro: (rules: object[]) => ({ allOf: rules }) };
export const KEYWORDS = [DECIMAL_PLACES, 'discriminator', RULES_KEYWORD];

/** Formats for client generators. Validators rely on the type alone. */
export const FORMATS = { int64: true, double: true } as const;

export interface SeenAnswer {
  status: number;
  /** Names are in lower case. */
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Headers that any answer may have, or that only concern transport. */
const UNDESCRIBED_HEADERS = new Set([
  'accept-encoding',
  'access-control-allow-origin',
  'access-control-expose-headers',
  'cache-control',
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'cross-origin-resource-policy',
  'date',
  'keep-alive',
  'referrer-policy',
  'strict-transport-security',
  'uwebsockets',
  'vary',
  'x-content-type-options',
  'x-request-id',
]);

/** A location in the document and its value. */
interface Place<Thing> {
  pointer: string;
  value: Thing;
}

export class Contract {
  private readonly ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    keywords: KEYWORDS,
    formats: FORMATS,
    // Only referenced parts are compiled. document.test.ts validates the document itself.
    validateSchema: false,
  });
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly paths: { pattern: RegExp; section: string; template: string; item: PathItem }[];

  constructor(readonly document: OpenApiDocument) {
    // The document is not a schema itself, but contains schemas.
    this.ajv.addVocabulary(Object.keys(document));
    this.ajv.addSchema(document, 'document', undefined, false);
    // As in the router, static segments come first.
    const sections = ['paths', 'x-websockets'] as const;
    const paths = sections.flatMap((section) =>
      Object.entries(document[section]).map(([template, item]) => ({ section, template, item })),
    );
    paths.sort((a, b) => parameterCount(a.template) - parameterCount(b.template));
    this.paths = paths.map((path) => ({
      ...path,
      pattern: new RegExp(`^${path.template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    }));
  }

  /** Returns the template of a path relative to /api, which may have a query, or `null`. */
  templateOf(path: string): string | null {
    return this.findPath(path)?.template ?? null;
  }

  /** @throws with the problem unless the answer is as described */
  check(method: string, path: string, answer: SeenAnswer): void {
    const described = this.responseTo(method, path, answer.status);
    const problem =
      described === null
        ? 'this status is not described'
        : (this.headerProblem(described, answer) ?? this.bodyProblem(method, described, answer));
    if (problem === null) return;
    throw new Error(
      `${method} ${path} does not match its description: ${problem}: ${show(answer)}`,
    );
  }

  /** Returns why a value does not match the schema at a JSON pointer, or `null`. */
  schemaProblem(pointer: string, value: unknown): string | null {
    let validate = this.validators.get(pointer);
    if (validate === undefined) {
      validate = this.ajv.compile({ $ref: `document#${pointer}` });
      this.validators.set(pointer, validate);
    }
    return validate(value) ? null : this.ajv.errorsText(validate.errors);
  }

  private findPath(path: string) {
    const [bare] = path.split('?');
    return this.paths.find(({ pattern }) => pattern.test(bare!));
  }

  private responseTo(method: string, path: string, status: number): Place<Response> | null {
    const found = this.findPath(path);
    const operation = found?.item[operationKey(method)];
    if (found === undefined || operation === undefined) {
      const fallback = found === undefined ? 404 : 405;
      if (status !== fallback) return null;
      return {
        pointer: pointer('x-fallback-responses', `${fallback}`),
        value: this.document['x-fallback-responses'][fallback]!,
      };
    }
    const value = operation.responses[status];
    if (value === undefined) return null;
    if ('$ref' in value) return this.component(value.$ref.split('/').at(-1)!);
    const parts = [found.section, found.template, operationKey(method), 'responses', `${status}`];
    return { pointer: pointer(...parts), value };
  }

  private component(name: string): Place<Response> {
    const value = this.document.components.responses[name]!;
    return { pointer: pointer('components', 'responses', name), value };
  }

  private headerProblem(
    { pointer: at, value }: Place<Response>,
    { headers }: SeenAnswer,
  ): string | null {
    const described = Object.entries(value.headers ?? {});
    for (const [name, header] of described) {
      const sent = headers[name.toLowerCase()];
      if (sent === undefined && header.required === true) return `the header ${name} is missing`;
      if (sent === undefined) continue;
      const value = header.schema.type === 'integer' ? Number(sent) : sent;
      const problem = this.schemaProblem(at + pointer('headers', name, 'schema'), value);
      if (problem !== null) return `the header ${name}: ${problem}`;
    }
    const known = new Set(described.map(([name]) => name.toLowerCase()));
    const stranger = Object.keys(headers).find(
      (name) => !known.has(name) && !UNDESCRIBED_HEADERS.has(name),
    );
    return stranger === undefined ? null : `the header ${stranger} is not described`;
  }

  private bodyProblem(
    method: string,
    { pointer: at, value }: Place<Response>,
    answer: SeenAnswer,
  ): string | null {
    const { text, headers } = answer;
    const types = Object.keys(value.content ?? {});
    const sent = headers['content-type'];
    if (types.length === 0)
      return text === '' && sent === undefined ? null : 'there should be no body';
    if (!types.includes(`${sent}`)) return `the content type is ${sent}`;
    if (method === 'HEAD') return text === '' ? null : 'an answer to HEAD has no body';
    const body: unknown = sent === 'application/json' ? JSON.parse(text) : text;
    return this.schemaProblem(at + pointer('content', `${sent}`, 'schema'), body);
  }
}

let contract: Contract | null = null;

export function programContract(): Contract {
  contract ??= new Contract(buildDocument(ROUTES, programVersion()));
  return contract;
}

/** Returns the response itself, which may be a component. */
export function resolved(document: OpenApiDocument, response: Response | Reference): Response {
  if (!('$ref' in response)) return response;
  return document.components.responses[response.$ref.split('/').at(-1)!]!;
}

/** Returns every operation of a document, with its path and method. */
export function operationsOf(
  document: OpenApiDocument,
): { path: string; method: keyof PathItem; operation: Operation }[] {
  const all = [...Object.entries(document.paths), ...Object.entries(document['x-websockets'])];
  return all.flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      path,
      method: method as keyof PathItem,
      operation,
    })),
  );
}

/** "/paths/~1markets~1{id}/get" */
export function pointer(...parts: string[]): string {
  return parts
    .map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
    .join('');
}

function operationKey(method: string): keyof PathItem {
  return (method === 'HEAD' ? 'get' : method.toLowerCase()) as keyof PathItem;
}

function parameterCount(template: string): number {
  return template.split('{').length - 1;
}

function show({ status, headers, text }: SeenAnswer): string {
  return `${status} ${JSON.stringify(headers)} ${text.slice(0, 2_000)}`;
}
