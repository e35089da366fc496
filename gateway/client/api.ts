/**
 * The connection to the exchange's HTTP API. Sends requests, and repeats them where that is safe.
 *
 * Invariant: a change is executed at most once per call. All attempts of a call have the same
 * idempotency key, which the exchange remembers for an hour, much longer than a call lasts. A
 * change without a key is repeated only if the exchange reports that it was not executed.
 */
import { type Amount, toNumber } from './amounts.js';
import { ConnectionError, ExchangeError, type Failure, waitIn } from './errors.js';
import { DEFAULT_RETRIES, type Retries, repeated } from './retries.js';
import type { ApiError, Paging } from './terms.js';

export interface ApiOptions {
  /** The API's address. Default: /api of the page's own origin. */
  url?: string;
  token?: string | null;
  partnerKey?: string | null;
  fetch?: typeof globalThis.fetch;
  retries?: Partial<Retries>;
}

export interface CallOptions {
  /** Ends the call. A change may still have been executed. */
  signal?: AbortSignal | undefined;
  /** For changes: 1 to 64 of A-Z a-z 0-9 _ - : . Default: a random key. */
  idempotencyKey?: string | undefined;
  /**
   * Replaces the key with a number that grows with each change made with the token. The change is
   * not repeated, because the exchange does not store its answer.
   */
  clientSequence?: number | undefined;
  /** For reads: the answer includes this sequence and does not come from a cache. */
  minSequence?: number | undefined;
}

export interface Call<Answer = unknown> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to the API's address, with encoded segments: {@link path}. */
  path: string;
  query?: object | undefined;
  body?: object | undefined;
  /** How a request that may have been executed can be sent again. */
  repeat: 'key' | 'harmless' | 'never';
  /** Requests CSV, returned as a {@link CsvPage}. */
  asCsv?: boolean;
  /** Returns the text unparsed. */
  asText?: boolean;
  options?: CallOptions | undefined;
  answer?: Answer;
}

export function get<Answer>(path: string, query?: object): Call<Answer> {
  return { method: 'GET', path, query, repeat: 'harmless' };
}

type Repeat = Call['repeat'];

export function post<Answer>(path: string, body = {}, repeat: Repeat = 'key'): Call<Answer> {
  return { method: 'POST', path, body, repeat };
}

export function put<Answer>(path: string, body: object, repeat: Repeat = 'key'): Call<Answer> {
  return { method: 'PUT', path, body, repeat };
}

export function remove<Answer>(path: string, query = {}, repeat: Repeat = 'key'): Call<Answer> {
  return { method: 'DELETE', path, query, repeat };
}

/** Adds the API and the options to `callOf`, whose `length` counts no parameters with defaults. */
/* @__NO_SIDE_EFFECTS__ */
export function route<Args extends unknown[], Answer>(callOf: (...args: Args) => Call<Answer>) {
  return (api: Api, ...args: [...Args, options?: CallOptions]): Promise<Answer> =>
    api.call({
      ...callOf(...(args as unknown as Args)),
      options: args[callOf.length] as CallOptions,
    });
}

/** A page of a list as CSV (RFC 4180), with its own header line. */
export interface CsvPage {
  csv: string;
  nextCursor: string | null;
}

/** Encodes the parts: path`/users/${userId}/orders`. */
export function path(literals: TemplateStringsArray, ...parts: string[]): string {
  return String.raw({ raw: literals }, ...parts.map(encodeURIComponent));
}

/** Keeps browsers from caching. Node.js has no cache, so its types lack this option. */
const UNCACHED: object = { cache: 'no-store' };

/** Given as text or number, sent as a number. */
const AMOUNTS = new Set(['amount', 'shares', 'price']);

export class Api {
  readonly url: string;
  /** Set this after signing in. */
  token: string | null;
  private readonly partnerKey: string | null;
  private readonly fetch: typeof globalThis.fetch;
  private readonly retries: Retries;

  constructor(options: ApiOptions = {}) {
    this.url = (options.url ?? '/api').replace(/\/+$/, '');
    this.token = options.token ?? null;
    this.partnerKey = options.partnerKey ?? null;
    this.fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.retries = { ...DEFAULT_RETRIES, ...options.retries };
  }

  /** @throws ExchangeError, ConnectionError, or the reason of the signal */
  async call<Answer>(call: Call<Answer>): Promise<Answer> {
    const isNumbered = call.options?.clientSequence !== undefined;
    const isKeyed = call.repeat === 'key' && !isNumbered;
    const key = isKeyed ? (call.options?.idempotencyKey ?? randomKey()) : null;
    const isRepeatable = call.method === 'GET' || (call.repeat !== 'never' && !isNumbered);
    const body = call.body === undefined ? undefined : bodyText(call.body);
    const attempt = () => this.attempt<Answer>(call, key, body);
    return repeated(attempt, isRepeatable, this.retries, call.options?.signal);
  }

  private async attempt<Answer>(
    call: Call,
    key: string | null,
    body: string | undefined,
  ): Promise<{ answer: Answer } | Failure> {
    try {
      const response = await this.fetch(this.addressOf(call), this.requestOf(call, key, body));
      const text = await response.text();
      if (response.ok) return { answer: answerOf(call, response, text) as Answer };
      const error = errorOf(response, text);
      if (error.code !== 'outcome_unknown') return { error };
      // A replica has lost its leader, which is treated like no answer.
      return { error: new ConnectionError(error.message, true, key) };
    } catch (cause) {
      const message = `no answer from ${this.url} to ${call.method} ${call.path}`;
      return { error: new ConnectionError(message, call.method !== 'GET', key, { cause }) };
    }
  }

  private addressOf({ path, query, options }: Call): string {
    const all = { ...query, minSequence: options?.minSequence };
    const given = Object.entries(all).filter(([, value]) => value !== undefined && value !== null);
    const pairs = given.map(([name, value]) => `${name}=${encodeURIComponent(`${value}`)}`);
    return `${this.url}${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
  }

  private requestOf(
    { method, asCsv, options }: Call,
    key: string | null,
    body: string | undefined,
  ): RequestInit {
    const headers = new Headers();
    if (this.token !== null) headers.set('x-user-token', this.token);
    if (this.partnerKey !== null) headers.set('authorization', `Bearer ${this.partnerKey}`);
    if (key !== null) headers.set('idempotency-key', key);
    const number = options?.clientSequence;
    if (number !== undefined) headers.set('client-sequence', `${number}`);
    if (asCsv === true) headers.set('accept', 'text/csv');
    if (body !== undefined) headers.set('content-type', 'application/json');
    const timeout = AbortSignal.timeout(this.retries.timeoutMs);
    const signal = options?.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    const caching = options?.minSequence === undefined ? {} : UNCACHED;
    return { method, headers, signal, ...caching, ...(body === undefined ? {} : { body }) };
  }
}

/** @throws RangeError if an amount is not exact */
export function bodyText(body: object): string {
  return JSON.stringify(body, (name, value) =>
    AMOUNTS.has(name) && value !== undefined ? toNumber(value as Amount) : value,
  );
}

function answerOf(call: Call, response: Response, text: string): unknown {
  if (call.asCsv === true)
    return { csv: text, nextCursor: cursorIn(response.headers.get('link')) } satisfies CsvPage;
  if (call.asText === true) return text;
  return text === '' ? undefined : JSON.parse(text);
}

/** From a header such as </api/users/u1/ledger?cursor=…>; rel="next". */
function cursorIn(link: string | null): string | null {
  const query = link === null ? undefined : /\?([^>]*)>; rel="next"/.exec(link)?.[1];
  return query === undefined ? null : new URLSearchParams(query).get('cursor');
}

/** The code is "unknown" if the answer is not the API's. */
function errorOf({ status, headers }: Response, text: string): ExchangeError {
  const seconds = headers.get('retry-after');
  const headerMs = seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1_000 : null;
  try {
    const { code, message, details } = (JSON.parse(text) as { error: ApiError }).error;
    return new ExchangeError(code, message, details, status, waitIn(details) ?? headerMs);
  } catch {
    return new ExchangeError('unknown', `status ${status}`, {}, status, headerMs);
  }
}

/** 128 random bits in hex. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The entries of all pages: pages((paging) => userTrades(api, userId, paging), 'trades'). */
export async function* pages<Field extends string, Entry>(
  read: (paging: Paging) => Promise<Record<Field, Entry[]> & { nextCursor: string | null }>,
  field: Field,
  limit = 200,
): AsyncGenerator<Entry, void, void> {
  let cursor: string | null = null;
  do {
    const page: Record<Field, Entry[]> & { nextCursor: string | null } = await read({
      limit,
      cursor,
    });
    yield* page[field];
    cursor = page.nextCursor;
  } while (cursor !== null);
}
