/**
 * A request and its answer for each route. examples.json was recorded from one session with the
 * exchange; a test plays it again and compares, and with `-u` it records anew.
 */
import recorded from './examples.json' with { type: 'json' };

export interface RouteExample {
  /** The body; absent if there is none. */
  request?: unknown;
  response?: unknown;
}

/** By method and path, such as "GET /markets". */
export const EXAMPLES: Record<string, RouteExample | undefined> = recorded;
