/** The OpenAPI 3.1 document, generated from the routes and their schemas. */
import type { ErrorCode } from '../commands/errors.js';
import type { Route } from '../http/route.js';
import { errorResponses } from './error-responses.js';
import type {
  Header,
  JsonSchema,
  OpenApiDocument,
  Operation,
  PathItem,
  Response,
} from './openapi.js';
import {
  NO_CREDENTIAL,
  operationOf,
  RETRY_AFTER,
  SECURITY_SCHEMES,
  SESSION_OR_NONE,
} from './operations.js';
import { IF_NONE_MATCH_PARAMETER, pathTemplate } from './parameters.js';
import { ALL_TAGS, DESCRIPTION, TITLE } from './prose.js';
import { Schemas } from './schemas.js';
import { SharedResponses } from './shared-responses.js';

export function buildDocument(routes: readonly Route[], version: string): OpenApiDocument {
  const schemas = new Schemas();
  const paths: Record<string, PathItem> = {};
  for (const route of routes) {
    const path = pathTemplate(route.path);
    paths[path] = { ...paths[path], [lowerCase(route.method)]: operationOf(route, schemas) };
  }
  paths['/openapi.json'] = { get: documentOperation(schemas.errorBody) };
  const shared = new SharedResponses();
  for (const operation of Object.values(paths).flatMap((item) => Object.values(item)))
    operation.responses = shared.of(operation.operationId, operation.responses);
  return {
    openapi: '3.1.1',
    info: {
      title: TITLE,
      version,
      description: DESCRIPTION,
      contact: { name: 'The operator of this exchange' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/api', description: 'This exchange' }],
    tags: ALL_TAGS,
    paths,
    'x-websockets': { '/stream': { get: streamOperation(schemas.errorBody) } },
    'x-fallback-responses': fallbackResponses(schemas.errorBody),
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: schemas.components,
      responses: shared.components,
    },
  };
}

function lowerCase(method: Route['method']): keyof PathItem {
  return method.toLowerCase() as Lowercase<Route['method']>;
}

/** Answers to paths and methods outside the document, by status. */
function fallbackResponses(errorBody: JsonSchema): Record<string, Response> {
  const MethodNotAllowed = errorResponses(['method_not_allowed'], errorBody)[405]!;
  const Allow = textHeader('The methods that the path supports');
  return {
    404: errorResponses(['route_not_found'], errorBody)[404]!,
    405: { ...MethodNotAllowed, headers: { Allow } },
  };
}

function textHeader(description: string): Header {
  return { description, required: true, schema: { type: 'string' } };
}

/** Not a route, because the document is built from routes. */
function documentOperation(errorBody: JsonSchema): Operation {
  const refusals = errorResponses(['rate_limited'], errorBody);
  refusals[429]!.headers = { 'Retry-After': RETRY_AFTER };
  const ETag = textHeader('Identifies this version of the document');
  return {
    operationId: 'getOpenapiJson',
    summary: 'This document',
    description: 'The description of this API. Needs no session. Costs reads by its size.',
    tags: ['Operations'],
    security: NO_CREDENTIAL,
    parameters: [IF_NONE_MATCH_PARAMETER],
    responses: {
      200: {
        description: 'The OpenAPI 3.1 document',
        headers: { ETag },
        content: { 'application/json': { schema: { type: 'object' } } },
      },
      304: { description: 'The cached copy is current', headers: { ETag } },
      ...refusals,
    },
  };
}

const STREAM_CODES: ErrorCode[] = [
  'invalid_request',
  'invalid_token',
  'token_revoked',
  'token_expired',
  'address_not_allowed',
  'cross_site_request',
  'limit_reached',
  'rate_limited',
  'unavailable',
];

function streamOperation(errorBody: JsonSchema): Operation {
  const refusals = errorResponses(STREAM_CODES, errorBody);
  refusals[429]!.headers = { 'Retry-After': RETRY_AFTER };
  return {
    operationId: 'getStream',
    summary: 'Connect to the stream (WebSocket); credentials in the URL are ignored',
    description:
      'Needs no session, except for the channels `user` and `account`. A refused handshake returns a status; later errors are messages.',
    tags: ['Markets'],
    security: SESSION_OR_NONE,
    responses: { 101: { description: 'Switching to WebSocket' }, ...refusals },
  };
}
