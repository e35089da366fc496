/**
 * The answer to a request: status, headers, body, and when and how they are written. Answers are
 * targets of the release queue: an answer that shows the exchange's state is sent once its sequence
 * is durable.
 *
 * Invariant: exactly one answer is written, in one cork. None is written if the client has left or
 * the exchange has failed.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { ReleaseTarget } from '../../../persistence/sequencer.js';
import { writeCrossOrigin } from '../../access/cross-origin.js';
import type { AddressKey } from '../../access/fair-use/addresses.js';
import type { Cost } from '../../access/fair-use/charges.js';
import { Bill, type Quota, type RateLimitState } from '../../access/fair-use/fair-use.js';
import { type ErrorAnswer, rateLimited, UNAVAILABLE } from '../../commands/errors.js';
import { elapsedMs } from '../../observe/clock.js';
import type { AnswerCounts, RouteName } from '../../observe/metrics.js';
import type { Serving } from '../gateway.js';
import type { InFlight, Receivable } from '../in-flight.js';
import type { Request } from '../request.js';
import { writeLast } from './last-answer.js';
import { JSON_TYPE, writeHeadWithId, writeStatus } from './response-head.js';
import type { Recipient } from './unsent-answers.js';

export interface AskedBody {
  readonly cost: Cost;
}

export interface AnsweredRoute extends RouteName {
  /** Content types of successful answers, default first. `application/json` if absent. */
  produces?: readonly string[];
  /**
   * Set if successful answers have an ETag and may be compressed (coded-answer.ts). `public`:
   * caches may store the answer and must revalidate it, unless the path contains `me`. `private`:
   * no cache stores it, so only clients that manage ETags themselves benefit.
   */
  caching?: 'public' | 'private';
  /** Fair-use quota; `null` if uncounted. For the default, see quotaOf in call.ts. */
  quota?: Quota | null | ((body: AskedBody) => Quota);
}

/** The core's answer to an edge's request, without the headers common to all answers. */
export interface RelayedText {
  status: number;
  contentType: string;
  headers: string[];
  body: string | Uint8Array;
}
export type RelayedAnswer = RelayedText & { body: Uint8Array };

export abstract class Answer<Server extends Serving = Serving>
  implements ReleaseTarget, Recipient, Receivable<Answer>
{
  readonly receivedMs = elapsedMs();
  isReceiving = false;
  older: Answer | null = null;
  newer: Answer | null = null;
  protected status = 200;
  protected text: string | Uint8Array = '';
  private headers: string[] | null = null;
  private produced: string | null = null;
  /** Values of the RateLimit headers; `null` if the request is uncounted. */
  rateLimit: RateLimitState | null = null;
  protected appliedMs = 0;
  readonly bill = new Bill(this);
  private closeConnection = false;
  /** Called if the client leaves before the answer, to cancel pending work. */
  onLeft: (() => void) | null = null;
  private ended = false;
  private isAborted = false;

  constructor(
    readonly gateway: Server,
    protected readonly route: AnsweredRoute | null,
    private readonly counts: AnswerCounts,
    readonly request: Request,
    /** `null` if an edge holds the connection (edge/core/calls.ts). */
    private readonly response: HttpResponse | null,
    private readonly inFlight: InFlight<Answer>,
  ) {}

  abstract get userId(): number;

  get isOver(): boolean {
    return this.ended;
  }

  /** The client's address. Must not be read after the request is over. */
  get address(): AddressKey {
    return this.request.addressFrom(this.response!);
  }

  get addressBytes(): Uint8Array {
    return this.request.addressBytesFrom(this.response!);
  }

  /** Whether the client uses HTTPS, as far as this process can tell. */
  get isSecure(): boolean {
    return this.gateway.config.tls !== null || this.request.forwardedProto === 'https';
  }

  addHeader(name: string, value: string): void {
    this.headers ??= [];
    this.headers.push(name, value);
  }

  produce(contentType: string): void {
    this.produced = contentType;
  }

  /** Closes the connection after the answer, because the rest of the request is not read. */
  closeAfterAnswer(): void {
    this.closeConnection = true;
  }

  /**
   * Charges the request `count` units in total. If that exceeds a limit, charges nothing, answers
   * with 429 and returns false.
   */
  pays(quota: Quota, count: number): boolean {
    const result = this.gateway.fairUse.charge(quota, this.bill, count);
    // The OpenAPI document lists these headers only for routes.
    if (this.route !== null) this.rateLimit = result;
    if (result === null || result.granted) return true;
    const { error, retryAfter } = rateLimited(result.waitMs);
    this.addHeader('Retry-After', retryAfter);
    return this.refuseNow(error);
  }

  /** Answers without waiting for the disk; for answers that show no state. */
  answerNow(status: number, text: string): void {
    this.prepare(status, text);
    this.release();
  }

  prepare(status: number, text: string | Uint8Array): void {
    this.status = status;
    this.text = text;
  }

  /** Refuses a request regardless of state. Returns false, so that checks can return it. */
  refuseNow({ status, text }: ErrorAnswer): false {
    this.answerNow(status, text);
    return false;
  }

  /** Refuses the request because too much work is waiting for the disk, and refunds its charge. */
  refuseOverloaded(): false {
    this.gateway.fairUse.giveBack(this.bill);
    this.rateLimit = null;
    this.addHeader('Retry-After', '1');
    return this.refuseUnavailable();
  }

  refuseUnavailable(): false {
    return this.refuseNow(UNAVAILABLE);
  }

  relay({ status, contentType, headers, body }: RelayedAnswer): void {
    this.status = status;
    this.produced = contentType;
    this.headers = headers;
    this.text = body.byteLength === 0 ? '' : body;
    this.release();
  }

  protected get answerToRelay(): RelayedText {
    return {
      status: this.status,
      contentType: this.contentType,
      headers: [...limitHeaders(this.rateLimit), ...(this.headers ?? [])],
      body: this.text,
    };
  }

  /** Closes the connection instead of answering, because too many answers are unsent. */
  drop(): void {
    if (!this.ended) this.gateway.unsent.refuse(this.response!);
  }

  /** Called when the client has left. Nothing may be written after this. */
  abort(): void {
    if (this.ended) return;
    this.isAborted = true;
    this.onLeft?.();
    this.end();
  }

  release(): void {
    if (this.ended) return;
    this.send();
    this.measure();
    this.end();
  }

  /** Sends the answer. Closes the connection if free answers flood the address. */
  protected send(): void {
    const isFree = this.status === 429 || this.status === 503 || this.route?.quota === null;
    if (isFree && this.gateway.fairUse.floods(this.address)) this.closeConnection = true;
    writing = this;
    this.response!.cork(writeNow);
  }

  write(): void {
    const { headers } = this;
    const response = this.response!;
    writeStatus(response, this.status);
    writeHeadWithId(
      response,
      this.text === '' ? '' : this.contentType,
      this.isSecure,
      this.request,
      this.status < 400 && this.route?.caching === 'public' && !this.request.saysMe,
    );
    writeCrossOrigin(response, this.request.origin, this.gateway.config.siteOrigins);
    if (this.rateLimit !== null) response.writeHeader('RateLimit-Limit', limitText(this.rateLimit));
    for (let i = 0; headers !== null && i < headers.length; i += 2) {
      response.writeHeader(headers[i]!, headers[i + 1]!);
    }
    this.writeBody();
  }

  private writeBody(): void {
    const { text, gateway } = this;
    const response = this.response!;
    if (text === '') writeLast(response, '');
    else if (this.request.method === 'head') writeLast(response, '', Buffer.byteLength(text));
    else if (this.closeConnection) writeLast(response, text);
    else {
      if (gateway.isStopping()) response.writeHeader('Connection', 'close');
      gateway.unsent.send(response, text, this);
    }
  }

  private get contentType(): string {
    if (this.status >= 400) return JSON_TYPE;
    return this.produced ?? this.route?.produces?.[0] ?? JSON_TYPE;
  }

  protected measure(): void {
    const { metrics } = this.gateway;
    const nowMs = elapsedMs();
    if (this.appliedMs !== 0) metrics.commitMs.observe(nowMs - this.appliedMs);
    metrics.requestMs.observe(nowMs - this.receivedMs);
    this.counts.add(this.status);
  }

  get logFields(): object {
    return { request: this.request.id, route: this.route?.path };
  }

  private end(): void {
    this.ended = true;
    this.inFlight.ended(this);
    const { log } = this.gateway;
    if (!log.isLevelEnabled('debug')) return;
    const { id: request, method } = this.request;
    const tookMs = Math.round((elapsedMs() - this.receivedMs) * 1_000) / 1_000;
    log.debug(
      { request, method, route: this.route?.path, user: this.userId, status: this.status, tookMs },
      this.isAborted ? 'the client left before the answer' : 'answered',
    );
  }
}

/** Returns alternating names and values. */
export function limitHeaders(rateLimit: RateLimitState | null): string[] {
  return rateLimit === null ? [] : ['RateLimit-Limit', limitText(rateLimit)];
}

/** Returns the value of RateLimit-Limit, with two more headers appended. */
function limitText({ limit, remaining, resetSeconds }: RateLimitState): string {
  return `${limit}\r\nRateLimit-Remaining: ${remaining}\r\nRateLimit-Reset: ${resetSeconds}`;
}

/** The answer being written, in a variable to avoid a closure per answer. */
let writing: Answer | null = null;
function writeNow(): void {
  writing!.write();
  writing = null;
}
