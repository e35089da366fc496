/**
 * What a request says, copied out of uWebSockets.js's request object at once, because that dies with its callback. Headers that
 * the route does not need are not copied.
 */
import type { HttpRequest } from 'uWebSockets.js';
import { requestId } from './request-id.js';
import { parameterNames, type Route } from './route.js';

export const BODY_BYTES_MAX = 65_536;

export class Incoming {
  /** In the log, and in the answer's X-Request-Id. */
  readonly id: string;
  /** In lower case. */
  readonly method: string;
  readonly rawQuery: string;
  /** Headers; empty where they are absent or not needed. Of one that stands there twice, the first. */
  userToken = '';
  cookie = '';
  authorization = '';
  contentType = '';
  origin = '';
  secFetchSite = '';
  host = '';
  /** Every Idempotency-Key that stands there, which may also be empty. */
  readonly idempotencyKeys: string[] = [];
  /** Whether the request says in two ways how long its body is: nobody can tell where the next one begins. */
  hasTwoLengths = false;
  /** From a proxy of ours; empty if there is none. `forwardedFor` is the last header of that name. */
  forwardedProto = '';
  forwardedFor = '';
  private requestId = '';
  private forwardedHost = '';
  /** null: none was seen. */
  private contentLength: string | null = null;
  private readonly parameters: readonly string[];
  private readonly names: readonly string[];

  constructor(
    request: HttpRequest,
    route: Route | null,
    private readonly trustProxy: boolean,
  ) {
    this.method = request.getMethod();
    this.rawQuery = request.getQuery() ?? '';
    this.names = route === null ? [] : namesOf(route);
    this.parameters = this.names.map((_, index) => request.getParameter(index) ?? '');
    // To go through all headers costs as much as to look five of them up, and only that tells of empty ones and of twins.
    if (route?.body !== undefined || trustProxy || request.getHeader('content-length') !== '') {
      request.forEach((name, value) => {
        this.take(name, value);
      });
    } else this.lookUp(request, route);
    if (trustProxy && this.forwardedHost !== '') this.host = this.forwardedHost;
    this.id = requestId(this.requestId);
  }

  private take(name: string, value: string): void {
    switch (name) {
      case 'x-user-token':
        this.userToken ||= value;
        break;
      case 'content-type':
        this.contentType ||= value;
        break;
      case 'idempotency-key':
        this.idempotencyKeys.push(value);
        break;
      case 'content-length':
        if (this.contentLength !== null && this.contentLength !== value) this.hasTwoLengths = true;
        this.contentLength = value;
        break;
      case 'cookie':
        this.cookie ||= value;
        break;
      case 'authorization':
        this.authorization ||= value;
        break;
      case 'origin':
        this.origin ||= value;
        break;
      case 'sec-fetch-site':
        this.secFetchSite ||= value;
        break;
      case 'host':
        this.host ||= value;
        break;
      case 'x-request-id':
        this.requestId ||= value;
        break;
      default:
        if (this.trustProxy) this.takeForwarded(name, value);
    }
  }

  private takeForwarded(name: string, value: string): void {
    if (name === 'x-forwarded-proto') this.forwardedProto ||= value;
    // Some proxies add a header of their own after the one that the client sent, and it is theirs that counts.
    else if (name === 'x-forwarded-for') this.forwardedFor = value;
    else if (name === 'x-forwarded-host') this.forwardedHost ||= value;
  }

  /** Of a request without a body, and not from a proxy. */
  private lookUp(request: HttpRequest, route: Route | null): void {
    this.requestId = request.getHeader('x-request-id');
    if (route === null) return;
    if (route.access === 'partner') this.authorization = request.getHeader('authorization');
    else this.userToken = request.getHeader('x-user-token');
    // A read is never refused for where it comes from; without the token in the header, the cookie counts.
    if (this.userToken === '') this.cookie = request.getHeader('cookie');
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
