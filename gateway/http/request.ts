/**
 * A request as the client sent it, copied from the uWebSockets.js object, which is valid only in
 * its callback.
 *
 * All headers are read in one pass, at about 0.09 µs per header, because only a pass shows empty
 * and duplicate headers.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { Assets } from '../../engine/interface/notation.js';
import {
  type AddressKey,
  addressKey,
  forwardedAddressBytes,
  forwardedKey,
  socketAddressBytes,
} from '../access/fair-use/addresses.js';
import type { FieldProblems } from '../json/problems.js';
import { nextRequestNumber, requestIdText } from './request-id.js';

export const PARAMETERS_MAX = 2;
export const BODY_BYTES_MAX = 65_536;

/** Maximum of uWebSockets.js. */
const LENGTH_DIGITS_MAX = 18;
const ZERO = 48;
const NINE = 57;
const CLIENT_REQUEST_ID = /^[A-Za-z0-9_.:-]{1,64}$/;
/**
 * An Idempotency-Key header, optionally quoted. uWebSockets.js trims non-ASCII bytes from both ends
 * of a header value, so two unquoted keys that differ only there look the same. Inside quotes it
 * trims nothing, and the invalid key is refused.
 */
export const IDEMPOTENCY_KEY = /^(?:[A-Za-z0-9_:.-]{1,64}|"[A-Za-z0-9_:.-]{1,64}")$/;

/** A Client-Sequence header. The maximum is 2^53 - 1. */
export const CLIENT_SEQUENCE = /^[1-9]\d{0,15}$/;

export function keyOf(header: string): string {
  return header.startsWith('"') ? header.slice(1, -1) : header;
}

export interface RawRequest {
  getQuery(): string;
  forEach(read: (name: string, value: string) => void): void;
  getParameter(index: number): string | undefined;
}

/** Sender and headers of a command. With the body, they determine its record. */
export interface CommandContext {
  readonly request: Request;
  readonly assets: Assets;
  readonly userId: number;
  readonly tokenId: number;
  /** The key, set before the body is parsed. */
  idempotencyKey: string | null;
}

const NO_NAMES: readonly string[] = [];

/** The request whose headers are being read, in a variable to avoid a closure per request. */
let reading: Request | null = null;
const readHeader = (name: string, value: string): void => reading!.readHeader(name, value);

export class Request {
  readonly rawQuery: string;
  /** Headers; empty if absent. */
  userToken = '';
  /** Headers sent more than once are joined. */
  cookie = '';
  authorization = '';
  contentType = '';
  contentEncoding = '';
  accept = '';
  acceptEncoding = '';
  ifNoneMatch = '';
  minSequence = '';
  origin = '';
  accessControlRequestMethod = '';
  secFetchSite = '';
  host = '';
  /** The first Idempotency-Key header, and how many there are, empty ones included. */
  idempotencyKey = '';
  idempotencyKeys = 0;
  clientSequence = '';
  clientSequences = 0;
  isChunked = false;
  /** The scheme set by a trusted proxy, else empty. The last of several headers counts. */
  forwardedProto = '';
  forwardedFor = '';
  /** Problems that make the request or its end ambiguous, by header; `null` if none. */
  problems: FieldProblems | null = null;
  private clientRequestId = '';
  private assignedNumber = 0;
  private forwardedHost = '';
  private contentLength: string | null = null;
  private names: readonly string[] = NO_NAMES;
  private first = '';
  private second = '';
  /** Whether the path contains `me`, which makes the answer depend on the sender. */
  saysMe = false;

  constructor(
    raw: RawRequest,
    /** The method in lower case. */
    readonly method: string,
    private readonly trustProxy: boolean,
  ) {
    this.rawQuery = raw.getQuery() ?? '';
    reading = this;
    raw.forEach(readHeader);
    reading = null;
    if (this.isChunked && this.contentLength !== null) {
      this.add('Content-Length', 'cannot be combined with Transfer-Encoding');
    }
    if (trustProxy && this.forwardedHost !== '') this.host = this.forwardedHost;
  }

  /** The client's X-Request-Id, or else a unique id. Logged and returned in X-Request-Id. */
  get id(): string {
    return this.hasClientId ? this.clientRequestId : requestIdText(this.number);
  }

  get hasClientId(): boolean {
    return this.clientRequestId !== '' && CLIENT_REQUEST_ID.test(this.clientRequestId);
  }

  /** The number in {@link id}, unless the client sent its own id. */
  get number(): number {
    if (this.assignedNumber === 0) this.assignedNumber = nextRequestNumber();
    return this.assignedNumber;
  }

  /** Prefers the address that a trusted proxy reports. The response must be open. */
  addressFrom(response: HttpResponse): AddressKey {
    return forwardedKey(this.forwardedFor) ?? addressKey(response.getRemoteAddress());
  }

  addressBytesFrom(response: HttpResponse): Uint8Array {
    return (
      forwardedAddressBytes(this.forwardedFor) ?? socketAddressBytes(response.getRemoteAddress())
    );
  }

  get announcesBody(): boolean {
    return this.isChunked || (this.contentLength !== null && Number(this.contentLength) !== 0);
  }

  /** Call within the request's callback. */
  readParameters(raw: RawRequest, names: readonly string[]): void {
    this.names = names;
    if (names.length > 0) this.first = raw.getParameter(0) ?? '';
    if (names.length > 1) this.second = raw.getParameter(1) ?? '';
    this.saysMe = names.length > 0 && this.parameter(names[0]!) === 'me';
  }

  get rawParameters(): string[] {
    return [this.first, this.second].slice(0, this.names.length);
  }

  /** Headers that a replica forwards to the leader, which treats them as the client's. */
  headersToForward(isSecure: boolean): string[] {
    const headers = ['x-request-id', this.id];
    const add = (name: string, value: string) => {
      if (value !== '') headers.push(name, value);
    };
    add('x-user-token', this.userToken);
    add('cookie', this.cookie);
    add('authorization', this.authorization);
    add('content-type', this.contentType);
    add('content-encoding', this.contentEncoding);
    add('accept', this.accept);
    add('accept-encoding', this.acceptEncoding);
    add('if-none-match', this.ifNoneMatch);
    add('min-sequence', this.minSequence);
    add('origin', this.origin);
    add('sec-fetch-site', this.secFetchSite);
    add('host', this.host);
    for (let i = 0; i < this.idempotencyKeys; i++)
      headers.push('idempotency-key', this.idempotencyKey);
    for (let i = 0; i < this.clientSequences; i++)
      headers.push('client-sequence', this.clientSequence);
    if (isSecure) headers.push('x-forwarded-proto', 'https');
    else add('x-forwarded-proto', this.forwardedProto);
    return headers;
  }

  readHeader(name: string, value: string): void {
    switch (name) {
      case 'x-user-token':
        this.userToken = this.single(name, this.userToken, value);
        break;
      case 'content-type':
        this.contentType = this.single(name, this.contentType, value);
        break;
      case 'content-encoding':
        this.contentEncoding = this.single(name, this.contentEncoding, value);
        break;
      case 'idempotency-key':
        if (this.idempotencyKeys++ === 0) this.idempotencyKey = value;
        break;
      case 'client-sequence':
        if (this.clientSequences++ === 0) this.clientSequence = value;
        break;
      case 'content-length':
        this.readLength(value);
        break;
      case 'transfer-encoding':
        this.readCoding(value);
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
      case 'accept':
        this.accept = joined(this.accept, value);
        break;
      case 'accept-encoding':
        this.acceptEncoding = joined(this.acceptEncoding, value);
        break;
      case 'if-none-match':
        this.ifNoneMatch = joined(this.ifNoneMatch, value);
        break;
      case 'min-sequence':
        this.minSequence = this.single(name, this.minSequence, value);
        break;
      case 'origin':
        this.origin = this.single(name, this.origin, value);
        break;
      case 'access-control-request-method':
        this.accessControlRequestMethod = value;
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
        if (this.trustProxy) this.readForwarded(name, value);
    }
  }

  /** uWebSockets.js uses the first Content-Length and ignores empty ones. */
  private readLength(value: string): void {
    if (!isLength(value)) this.add('Content-Length', 'must be a number of bytes');
    else if (this.contentLength !== null && this.contentLength !== value) {
      this.add('Content-Length', 'is duplicated');
    }
    this.contentLength = value;
  }

  /** uWebSockets.js uses the first header, ignores empty ones, and treats most as chunked. */
  private readCoding(value: string): void {
    if (value !== 'chunked') this.add('Transfer-Encoding', 'must be chunked');
    else if (this.isChunked) this.add('Transfer-Encoding', 'is duplicated');
    this.isChunked = true;
  }

  /** Reports a header with two different values, which are ambiguous. */
  private single(name: string, previous: string, value: string): string {
    if (previous !== '' && previous !== value) this.add(name, 'is duplicated');
    return previous === '' ? value : previous;
  }

  private add(header: string, problem: string): void {
    this.problems ??= {};
    this.problems[header] ??= problem;
  }

  /** Some proxies append their header after the client's, so the last one counts. */
  private readForwarded(name: string, value: string): void {
    if (name === 'x-forwarded-proto') this.forwardedProto = value;
    else if (name === 'x-forwarded-for') this.forwardedFor = value;
    else if (name === 'x-forwarded-host') this.forwardedHost = value;
  }

  replaceParameter(name: string, value: string): void {
    if (name === this.names[0]) this.first = value;
    else this.second = value;
  }

  /** Returns a decoded path parameter; empty if it cannot be decoded. */
  parameter(name: string): string {
    const raw = name === this.names[0] ? this.first : name === this.names[1] ? this.second : '';
    if (!raw.includes('%')) return raw;
    try {
      return decodeURIComponent(raw);
    } catch {
      return '';
    }
  }
}

/** Whether the text is a byte count. Called for nearly every request; a RegExp is slower. */
function isLength(value: string): boolean {
  if (value.length === 0 || value.length > LENGTH_DIGITS_MAX) return false;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code < ZERO || code > NINE) return false;
  }
  return true;
}

function joined(previous: string, value: string): string {
  return previous === '' ? value : `${previous}, ${value}`;
}
