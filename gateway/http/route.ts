/** A route: path, access, schemas, handler, and everything that the OpenAPI document says of it. */
import type { z } from 'zod';
import type { Command, CommandName } from '../../engine/interface/commands.js';
import type { ErrorCode } from '../commands/errors.js';
import type { ReceiptWriter } from '../commands/receipt.js';
import { NoQuery } from '../json/fields.js';
import type { AnsweredRoute, AskedBody } from './answers/reply.js';
import type { Call } from './call.js';
import type { CommandContext } from './request.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Who may use a route:
 * - `open`: everyone. Credentials are ignored, so that a stale cookie cannot prevent signing in.
 * - `openOrPartner`: everyone. A partner key is checked if present.
 * - `public`: everyone. User credentials are checked if present.
 * - `session`: signed-in users.
 * - `partner`: holders of a partner key.
 * - `operator`: holders of an operator key, on a separate address.
 */
export type Access = 'open' | 'openOrPartner' | 'public' | 'session' | 'partner' | 'operator';

/** A change that is one command of the signed-in user. Answered with 200 and its receipt. */
interface RouteCommand {
  kind: CommandName;
  /** Reads common bodies faster than the schemas do. If `null`, the schemas parse the body. */
  read(context: CommandContext, body: Uint8Array): Command | null;
  /** If false, the request has been refused. */
  admit?(call: Call, command: Command): boolean;
  receipt: ReceiptWriter<string | Uint8Array>;
}

/** The server passes each handler the values parsed by its route's own schemas. */
export interface Route<Body = unknown, Query = unknown> extends AnsweredRoute {
  method: Method;
  /** Relative to /api, with parameters as `:name`. */
  path: string;
  access: Access;
  /** Whether only a token from a sign-in may use the route, because it manages credentials. */
  handlesCredentials?: boolean;
  summary: string;
  userParameter?: string;
  query: z.ZodType<Query>;
  /** On routes that change state. An empty body counts as `{}`. */
  body?: z.ZodType<Body>;
  /** The route's command, if it has a session and no query. Edges read it as well (edge/). */
  command?: RouteCommand;
  /** Reports missing fields of the body (or the query), because zod skips rules after a problem. */
  missing?(input: object, problem: (name: string, message: string) => void): void;
  /** Whether an unvalidated body names a user other than `subject` outside `userId`. */
  namesAnotherUser?(body: object, subject: string): boolean;
  /** Cost before parsing; default 1. Body and answer may add to it (access/fair-use/charges.ts). */
  units?(query: string, body: AskedBody): number;
  /**
   * What answers a read sent to a replica. `process`: the replica, because the answer is about the
   * process. `leader`: the leader, because the answer is not in the journal. Default: the replica,
   * unless its state is too old.
   */
  answeredBy?: 'process' | 'leader';
  idempotent?: boolean;
  /** Body schema by status; `null` for no body. */
  responses: Record<number, z.ZodType | null>;
  /** Errors that depend on state. The others follow from the route's fields. */
  errors?: readonly ErrorCode[];
  setsCookie?: boolean;
  /** Only handlers that wait for a hash or signature return a promise. */
  handle(call: Call<Body, Query>): void | Promise<void>;
}

export type Definition<Body, Query> = Omit<
  Route<Body, Query>,
  'method' | 'path' | 'query' | 'userParameter'
> & {
  query?: z.ZodType<Query>;
};

/** The default query accepts only `userId`. A path below /users names its user. */
export function defineRoute<Body = undefined, Query = unknown>(
  method: Method,
  path: string,
  definition: Definition<Body, Query>,
): Route {
  const [, userParameter] = /^\/users\/:(\w+)/.exec(path) ?? [];
  const ofUser = userParameter === undefined ? {} : { userParameter };
  return { method, path, query: NoQuery, ...ofUser, ...definition } as Route;
}

/** Returns ["marketId", "orderId"] for "/markets/15m/:marketId/orders/:orderId". */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!);
}
