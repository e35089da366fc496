/**
 * What a request says, copied out of uWebSockets.js's request object at once, because that dies with its callback. Headers that
 * the route does not need are not copied.
 */
import type { HttpRequest } from 'uWebSockets.js';
import { requestId } from './request-id.js';
import { parameterNames, type Route } from './route.js';

export const BODY_BYTES_MAX = 65_536;

/** What is wrong with a body before anybody looks at its fields. */
export type BodyFault = 'body_too_large' | 'unsupported_media_type' | 'invalid_json';

export class Incoming {
  /** In the log, and in the answer's X-Request-Id. */
  readonly id: string;
  /** In lower case. */
  readonly method: string;
  readonly rawQuery: string;
  /** Headers; empty where they are absent or not needed. */
  readonly userToken: string = '';
  readonly cookie: string = '';
  readonly authorization: string = '';
  readonly contentType: string = '';
  readonly idempotencyKey: string = '';
  readonly origin: string = '';
  readonly secFetchSite: string = '';
  readonly host: string = '';
  /** From a proxy of ours; empty if there is none. */
  readonly forwardedProto: string = '';
  readonly forwardedFor: string = '';
  private readonly parameters: readonly string[];
  private readonly names: readonly string[];

  constructor(request: HttpRequest, route: Route | null, trustProxy: boolean) {
    this.id = requestId(request.getHeader('x-request-id'));
    this.method = request.getMethod();
    this.rawQuery = request.getQuery() ?? '';
    this.names = route === null ? [] : namesOf(route);
    this.parameters = this.names.map((_, index) => request.getParameter(index) ?? '');
    if (trustProxy) {
      this.forwardedProto = request.getHeader('x-forwarded-proto');
      this.forwardedFor = request.getHeader('x-forwarded-for');
    }
    if (route === null) return;
    if (route.access === 'partner') this.authorization = request.getHeader('authorization');
    else this.userToken = request.getHeader('x-user-token');
    // The token in the header counts, so the cookie matters only without one.
    if (this.userToken === '') {
      this.cookie = request.getHeader('cookie');
      this.origin = request.getHeader('origin');
      this.secFetchSite = request.getHeader('sec-fetch-site');
      this.host = (trustProxy && request.getHeader('x-forwarded-host')) || request.getHeader('host');
    }
    if (route.body === undefined) return;
    this.contentType = request.getHeader('content-type');
    if (route.idempotent === true) this.idempotencyKey = request.getHeader('idempotency-key');
  }

  /** A path parameter, decoded; empty if it cannot be. */
  parameter(name: string): string {
    const raw = this.parameters[this.names.indexOf(name)] ?? '';
    if (!raw.includes('%')) return raw;
    try {
      return decodeURIComponent(raw);
    } catch {
      return '';
    }
  }
}

const namesByRoute = new WeakMap<Route, readonly string[]>();

function namesOf(route: Route): readonly string[] {
  let names = namesByRoute.get(route);
  if (names === undefined) {
    names = parameterNames(route.path);
    namesByRoute.set(route, names);
  }
  return names;
}
