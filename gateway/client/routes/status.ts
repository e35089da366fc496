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

/** Fees, sizes, maximums and rate limits. */
export function limits(api: Api, options?: CallOptions): Promise<Limits> {
  return api.call({ method: 'GET', path: '/limits', options });
}

export function status(api: Api, options?: CallOptions): Promise<Status> {
  return api.call({ method: 'GET', path: '/status', options });
}

/** The hash of the journal batch that contains a sequence, such as a receipt's. */
export function digest(api: Api, sequence: number, options?: CallOptions): Promise<Digest> {
  return api.call({ method: 'GET', path: '/digest', query: { sequence }, options });
}

/**
 * All metrics in Prometheus' text format. 404 if the exchange has a separate address for operators,
 * which then has the metrics.
 */
export function metrics(api: Api, options?: CallOptions): Promise<string> {
  return api.call({ method: 'GET', path: '/metrics', asText: true, options });
}
