/**
 * A route: what it takes, who may use it, what it answers, and the handler. The tables of routes are all that the server
 * serves, and everything that a description of the API needs to know.
 */
import type { z } from 'zod';
import type { Quota } from '../fair-use/fair-use.js';
import type { ErrorCode } from './errors.js';
import type { RequestContext } from './request-context.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * Who may use a route. `open`: everybody; a credential that is sent makes no difference (signing in must work with a
 * stale cookie). `public`: everybody; a credential that is sent is checked. `session`: a user. `partner`: a partner's key.
 */
export type Access = 'open' | 'public' | 'session' | 'partner';

/** A request and its response, for the description of the API. */
export interface RouteExample {
  /** The request body; absent if there is none. */
  request?: unknown;
  /** The response body; absent if there is none. */
  response?: unknown;
}

/** Unknown to the type system at the edges: the router hands each handler what its own schemas made. */
export interface Route<Body = unknown, Query = unknown> {
  method: Method;
  /** Below /api; parameters as `:name`. */
  path: string;
  access: Access;
  /** Whether an open route takes a partner's key, too. One that is sent is checked. */
  takesPartnerKey?: boolean;
  /** One line on what it does. */
  summary: string;
  /** The path parameter that is a user's id, which must be the session's. */
  userParameter?: string;
  query: z.ZodType<Query>;
  /** Of routes that change something; an empty body counts as `{}`. */
  body?: z.ZodType<Body>;
  /** Whether a body is certainly valid, and can be taken as it is; what it does not let through is for the schema to judge. */
  quickCheck?(body: unknown): boolean;
  /** Whether a body, not yet looked at, names another user than the subject in places besides its own `userId`. */
  namesAnother?(body: object, subject: string): boolean;
  /** What a request counts as for fair use; default: a GET as a read, everything else as an order. null: it does not count. */
  quota?: Quota | null;
  /** Whether the same Idempotency-Key gets the same answer. */
  idempotent?: boolean;
  /** Status → what the answer looks like; null: no body. */
  responses: Record<number, z.ZodType | null>;
  example: RouteExample;
  /** The errors that the state of the exchange can give here, besides those that come from the other fields of the route. */
  errors?: readonly ErrorCode[];
  /** Whether a success sets the session cookie, or clears it. */
  setsCookie?: boolean;
  /** What type the answers are when they are not errors; default: application/json. */
  produces?: string;
  /** Only handlers that have to wait (for a hash, a signature) return a promise. */
  handle(call: RequestContext<Body, Query>): void | Promise<void>;
}

/** Checks a route's handler against its own schemas. */
export function defineRoute<Body = undefined, Query = unknown>(route: Route<Body, Query>): Route {
  return route as Route;
}

/** What a request counts as for fair use; null: it does not count. */
export function quotaOf(route: Route): Quota | null {
  if (route.quota !== undefined) return route.quota;
  return route.method === 'GET' ? 'reads' : 'orders';
}

/** ["marketId", "orderId"] of "/markets/15m/:marketId/orders/:orderId". */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!);
}
