/** A request and its answer for each route. A test compares them, or records them with `-u`. */
import recorded from './examples.json' with { type: 'json' };

export interface RouteExample {
  request?: unknown;
  response?: unknown;
}

/** By method and path, such as "GET /markets". */
export const EXAMPLES: Record<string, RouteExample | undefined> = recorded;
