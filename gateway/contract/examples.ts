/**
 * A request and its answer for each route, recorded from one session with the exchange. A test
 * repeats the session and compares; `-u` records it again.
 */
import recorded from './examples.json' with { type: 'json' };

export interface RouteExample {
  request?: unknown;
  response?: unknown;
}

/** By method and path, such as "GET /markets". */
export const EXAMPLES: Record<string, RouteExample | undefined> = recorded;
