/** The time, the limits, and the state of the exchange. Public. */
import type * as marketEvents from '../../resources/market-events/routes.js';
import type { Limits as LimitsBody } from '../../resources/status/limits.js';
import type * as statuses from '../../resources/status/routes.js';
import type { Answer } from '../answer.js';
import type { Api, CallOptions } from '../api.js';

export type Digest = Answer<typeof marketEvents.Digest>;
export type Status = Answer<typeof statuses.Status>;
export type Time = Answer<typeof statuses.Time>;
export type Limits = Answer<typeof LimitsBody>;

export function time(api: Api, options?: CallOptions): Promise<Time> {
  return api.call({ method: 'GET', path: '/time', options });
}

/** Fee, sizes, maxima, and rate limits. */
export function limits(api: Api, options?: CallOptions): Promise<Limits> {
  return api.call({ method: 'GET', path: '/limits', options });
}

export function status(api: Api, options?: CallOptions): Promise<Status> {
  return api.call({ method: 'GET', path: '/status', options });
}

/** The hash of the journal's batch that holds a sequence, such as a receipt's. */
export function digest(api: Api, sequence: number, options?: CallOptions): Promise<Digest> {
  return api.call({ method: 'GET', path: '/digest', query: { sequence }, options });
}

/**
 * All metrics in Prometheus' text format. An exchange that has an address for its operators has
 * them only there: 404.
 */
export function metrics(api: Api, options?: CallOptions): Promise<string> {
  return api.call({ method: 'GET', path: '/metrics', asText: true, options });
}
