/**
 * A request and its answer for each route. examples.json is recorded from one session with the
 * exchange. A test repeats the session and compares; `-u` records it again.
 */
import recorded from './examples.json' with { type: 'json' };

export interface RouteExample {
  /** The body, if the request has one. */
  request?: unknown;
  response?: unknown;
}

/** Examples by method and path, such as "GET /markets". */
export const EXAMPLES: Record<string, RouteExample | undefined> = recorded;
