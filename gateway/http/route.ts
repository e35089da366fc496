/**
 * A route: its path, access rules, schemas and handler. The table of routes has every route of the
 * API except the stream, and all that the OpenAPI document reports about a route.
 */
import type { z } from 'zod';
import type { Command, CommandName } from '../../engine/interface/commands.js';
import type { ErrorCode } from '../commands/errors.js';
import type { ReceiptWriter } from '../commands/receipt.js';
import { NoQuery } from '../json/fields.js';
import type { AnsweredRoute, AskedBody } from './answers/answer.js';
import type { Call } from './call.js';
import type { Asking } from './request.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Who may use a route. `open`: everyone; credentials are ignored (a stale cookie must not prevent
 * signing in). `openOrPartner`: the same, but a partner key is checked if present. `public`:
 * everyone; credentials of users are checked if present. `session`: signed-in users. `partner`:
 * holders of a partner key. `operator`: holders of an operator key, on an address of their own.
 */
export type Access = 'open' | 'openOrPartner' | 'public' | 'session' | 'partner' | 'operator';

/** A change that is one command of the signed-in user. Its receipt is answered with 200. */
interface RouteCommand {
  kind: CommandName;
  /**
   * Reads the usual bodies from their bytes straight into the command, at a fraction of the cost of
   * the schemas. null: the schemas decide.
   */
  read(asking: Asking, body: Uint8Array): Command | null;
  /** Whether the command is executed; false: the request has been refused. */
  admits?(call: Call, command: Command): boolean;
  receipt: ReceiptWriter<string | Uint8Array>;
}

/** The server passes each handler the values that the route's own schemas parsed. */
export interface Route<Body = unknown, Query = unknown> extends AnsweredRoute {
  method: Method;
  /** Below /api, with parameters as `:name`. */
  path: string;
  access: Access;
  /** Whether only the password's own token may use the route, because it handles credentials. */
  handlesCredentials?: boolean;
  /** One line for the OpenAPI document. */
  summary: string;
  /** The path parameter that must be the id of the signed-in user. */
  userParameter?: string;
  query: z.ZodType<Query>;
  /** Present on routes that change state. An empty body counts as `{}`. */
  body?: z.ZodType<Body>;
  /** Only on routes that need a session and no query. Edges read commands as well (edge/). */
  command?: RouteCommand;
  /**
   * Reports fields of the body, or of the query if there is no body, that other fields require.
   * Called if the schema refuses the request, because the schema then skips rules across fields.
   */
  missing?(input: object, problem: (name: string, message: string) => void): void;
  /** Whether an unvalidated body names a user other than `subject` elsewhere than in `userId`. */
  namesAnother?(body: object, subject: string): boolean;
  /**
   * The cost of a request, seen before it is read; default: 1. Its body and its answer may cost
   * more (access/fair-use/charges.ts).
   */
  units?(query: string, body: AskedBody): number;
  /**
   * The process that answers a read sent to a replica. `process`: always the replica, because the
   * answer is about the process. `leader`: the leader, because the answer is not in the journal.
   * Default: the replica, while its state is not too old.
   */
  answeredBy?: 'process' | 'leader';
  /** Whether the route honours Idempotency-Key. */
  idempotent?: boolean;
  /** Status → schema of the body; null: no body. */
  responses: Record<number, z.ZodType | null>;
  /** Errors that depend on the exchange's state. The others follow from the fields of the route. */
  errors?: readonly ErrorCode[];
  /** Whether a success sets or clears the session cookie. */
  setsCookie?: boolean;
  /** Only handlers that wait, for a hash or a signature, return a promise. */
  handle(call: Call<Body, Query>): void | Promise<void>;
}

type Definition<Body, Query> = Omit<Route<Body, Query>, 'method' | 'path' | 'query'> & {
  query?: z.ZodType<Query>;
};

/** Checks a handler against its own schemas. Default of `query`: only the user's id. */
export function defineRoute<Body = undefined, Query = unknown>(
  method: Method,
  path: string,
  definition: Definition<Body, Query>,
): Route {
  return { method, path, query: NoQuery, ...definition } as Route;
}

/** ["marketId", "orderId"] of "/markets/15m/:marketId/orders/:orderId". */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!);
}
