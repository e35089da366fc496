/** A route's parameters: path, query string and headers. */
import { CLIENT_SEQUENCE, IDEMPOTENCY_KEY } from '../http/request.js';
import { parameterNames, type Route } from '../http/route.js';
import type { JsonSchema, Parameter } from './openapi.js';
import { written } from './schemas.js';

interface PathParameter {
  description: string;
  schema: JsonSchema;
  example: string;
}

const MARKET: PathParameter = {
  description: 'The market’s id: asset, kind, and start of the window in seconds since the epoch',
  schema: { type: 'string', pattern: '^[a-z0-9]{2,10}-15m-\\d+$' },
  example: 'btc-15m-1763700300',
};

const PATH_PARAMETERS: Record<string, PathParameter> = {
  markets: MARKET,
  '15m': MARKET,
  assets: {
    description: 'The symbol of the asset, in any case',
    schema: { type: 'string', pattern: '^[A-Za-z0-9]{2,10}$' },
    example: 'BTC',
  },
  users: numbered('The user id', 'u', 2),
  orders: numbered('The order id', 'o', 1),
  'order-groups': numbered('The order group id', 'g', 1),
  tokens: numbered('The token id', 'k', 1),
  'sub-accounts': numbered('The user id of the sub-account', 'u', 3),
  deposits: numbered('The vault deposit id', 'd', 1),
};

function numbered(description: string, letter: string, example: number): PathParameter {
  const schema: JsonSchema = { type: 'string', pattern: `^${letter}[1-9]\\d*$` };
  return { description, schema, example: `${letter}${example}` };
}

const IDEMPOTENCY_KEY_PARAMETER: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A request with the same user, key and body returns the first answer, byte for byte. The same key with a different body is refused. Keys are kept for an hour. Enclose the key in double quotes if it could start or end with an invalid character: without quotes, the server cannot detect such characters.',
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source },
  example: 'order-2025-11-21-0001',
};

const CLIENT_SEQUENCE_PARAMETER: Parameter = {
  name: 'Client-Sequence',
  in: 'header',
  description:
    'A number used instead of the key, from 1 to 9007199254740991. It must be greater than every number that the token has used; otherwise the request fails with `client_sequence_stale` and is not executed. Unlike with a key, a retry does not return the first answer.',
  schema: { type: 'string', pattern: CLIENT_SEQUENCE.source },
  example: '42',
};

export const IF_NONE_MATCH_PARAMETER: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The ETag of the client’s copy',
  schema: { type: 'string' },
};

const MIN_SEQUENCE = {
  description:
    'The answer must include this sequence. A replica that has not reached it waits up to a second, then returns 503. If both the query and the header name a sequence, the higher sequence counts.',
  schema: { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  required: false,
} as const;
const MIN_SEQUENCE_PARAMETERS: Parameter[] = [
  { name: 'minSequence', in: 'query', ...MIN_SEQUENCE },
  { name: 'Min-Sequence', in: 'header', ...MIN_SEQUENCE },
];

export function parametersOf(route: Route): Parameter[] {
  const idempotency =
    route.idempotent === true ? [IDEMPOTENCY_KEY_PARAMETER, CLIENT_SEQUENCE_PARAMETER] : [];
  const caching = route.caching === undefined ? [] : [IF_NONE_MATCH_PARAMETER];
  return [
    ...parameterNames(route.path).map((name) => pathParameter(route, name)),
    ...queryOf(route),
    ...(route.body === undefined ? MIN_SEQUENCE_PARAMETERS : []),
    ...idempotency,
    ...caching,
  ];
}

export function pathTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

function pathParameter(route: Route, name: string): Parameter {
  const parts = route.path.split('/');
  const before = parts[parts.indexOf(`:${name}`) - 1]!;
  const known = PATH_PARAMETERS[before];
  if (known === undefined)
    throw new Error(`the parameter ${name} of ${route.path} is not described`);
  const own =
    route.userParameter !== name
      ? ''
      : route.access === 'session'
        ? '; must be the signed-in user'
        : '; if a session is sent, it must be this user’s';
  if (own === '') return { name, in: 'path', required: true, ...known };
  const schema: JsonSchema = { type: 'string', pattern: '^(me|u[1-9]\\d*)$' };
  const description = `${known.description}${own}; \`me\` stands for that user`;
  return { name, in: 'path', required: true, schema, description, example: 'me' };
}

function queryOf(route: Route): Parameter[] {
  const { properties, required } = written(route.query, 'input') as {
    properties: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => {
    if (typeof description !== 'string')
      throw new Error(`${name} in the query of ${route.path} is not described`);
    return { name, in: 'query', description, required: required?.includes(name) ?? false, schema };
  });
}
