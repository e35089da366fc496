/** x */
export interface RouteExample {
  request?: unknown;
  response?: unknown;
}
export const EXAMPLES: Record<string, RouteExample> = {};
