/**
 * What a request says, copied out of uWebSockets.js's request object at once, because that dies with its callback. The door makes
 * one of every request, before any handler sees it.
 *
 * All headers are gone through once: only that tells of empty ones and of twins. It takes some 0.09 µs for each.
 */
import type { HttpRequest } from 'uWebSockets.js';
import type { FieldProblems } from '../json/problems.js';
import { requestId } from './request-id.js';
import { parameterNames, type Route } from './route.js';

export const BODY_BYTES_MAX = 65_536;

/** uWebSockets.js takes numbers of up to 18 digits. */
const LENGTH = /^\d{1,18}$/;

export class Request {
  /** In lower case. */
  readonly method: string;
  readonly rawQuery: string;
  /** Headers; empty where they are absent. */
  userToken = '';
  /** Of several headers, all of them. */
  cookie = '';
  authorization = '';
  contentType = '';
  origin = '';
  secFetchSite = '';
  host = '';
  /** Every Idempotency-Key that stands there, which may also be empty. */
  readonly idempotencyKeys: string[] = [];
  /** Whether the body comes in chunks. */
  isChunked = false;
  /** From a proxy of ours; empty if there is none. Each is the last header of its name. */
  forwardedProto = '';
  forwardedFor = '';
  /** Header → why nobody can tell what the request says: of which kind, or where the next one begins. null: all is clear. */
  problems: FieldProblems | null = null;
  private clientRequestId = '';
  private madeId = '';
  private forwardedHost = '';
  /** null: none was seen. */
  private contentLength: string | null = null;
  private parameters: readonly string[] = [];
  private names: readonly string[] = [];

  constructor(
    request: HttpRequest,
    private readonly trustProxy: boolean,
  ) {
    this.method = request.getMethod();
    this.rawQuery = request.getQuery() ?? '';
    request.forEach((name, value) => {
      this.take(name, value);
    });
    if (this.isChunked && this.contentLength !== null)
      this.add('Content-Length', 'stands beside Transfer-Encoding');
    if (trustProxy && this.forwardedHost !== '') this.host = this.forwardedHost;
  }

  /** In the log, and in the answer's X-Request-Id. */
  get id(): string {
    if (this.madeId === '') this.madeId = requestId(this.clientRequestId);
    return this.madeId;
  }

  /** Whether the request says that it has a body that is not empty. */
  get announcesBody(): boolean {
    return this.isChunked || (this.contentLength !== null && Number(this.contentLength) !== 0);
  }

  /** Copies the path's parameters, while the request is there. */
  takeParameters(request: HttpRequest, route: Route): void {
    this.names = namesOf(route);
    this.parameters = this.names.map((_, index) => request.getParameter(index) ?? '');
  }

  private take(name: string, value: string): void {
    switch (name) {
      case 'x-user-token':
        this.userToken = this.single(name, this.userToken, value);
        break;
      case 'content-type':
        this.contentType = this.single(name, this.contentType, value);
        break;
      case 'idempotency-key':
        this.idempotencyKeys.push(value);
        break;
      case 'content-length':
        this.takeLength(value);
        break;
      case 'transfer-encoding':
        this.takeCoding(value);
        break;
      case 'trailer':
        this.add('Trailer', 'is not supported');
        break;
      case 'cookie':
        this.cookie = this.cookie === '' ? value : `${this.cookie}; ${value}`;
        break;
      case 'authorization':
        this.authorization = this.single(name, this.authorization, value);
        break;
      case 'origin':
        this.origin = this.single(name, this.origin, value);
        break;
      case 'sec-fetch-site':
        this.secFetchSite = this.single(name, this.secFetchSite, value);
        break;
      case 'host':
        this.host = this.single(name, this.host, value);
        break;
      case 'x-request-id':
        this.clientRequestId ||= value;
        break;
      default:
        if (this.trustProxy) this.takeForwarded(name, value);
    }
  }

  /** uWebSockets.js takes the first, and an empty one for none. */
  private takeLength(value: string): void {
    if (!LENGTH.test(value)) this.add('Content-Length', 'must be a number of bytes');
    else if (this.contentLength !== null && this.contentLength !== value) {
      this.add('Content-Length', 'stands in the request more than once');
    }
    this.contentLength = value;
  }

  /** uWebSockets.js takes the first, an empty one for none, and nearly every other for chunks. */
  private takeCoding(value: string): void {
    if (value !== 'chunked') this.add('Transfer-Encoding', 'must be chunked');
    else if (this.isChunked) this.add('Transfer-Encoding', 'stands in the request more than once');
    this.isChunked = true;
  }

  /** Of a header that decides something: two that differ could mean either. */
  private single(name: string, had: string, value: string): string {
    if (had !== '' && had !== value) this.add(name, 'stands in the request more than once');
    return had === '' ? value : had;
  }

  private add(header: string, problem: string): void {
    this.problems ??= {};
    this.problems[header] ??= problem;
  }

  /** Some proxies add a header of their own after the one that the client sent, and it is theirs that counts. */
  private takeForwarded(name: string, value: string): void {
    if (name === 'x-forwarded-proto') this.forwardedProto = value;
    else if (name === 'x-forwarded-for') this.forwardedFor = value;
    else if (name === 'x-forwarded-host') this.forwardedHost = value;
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
