/**
 * One API request from arrival to answer: the request, who sent it, and the response. A call is
 * also a target of the release queue: an answer that shows the exchange's state is sent once
 * everything up to the sequence it is true at is durable.
 *
 * Always holds: exactly one answer is written, in one cork; or none, if the client has left or the
 * exchange has failed.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { Engine } from '../../engine/engine.js';
import type { CodeName } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import type { ReleaseTarget } from '../../persistence/sequencer.js';
import { writeCrossOrigin } from '../auth/cross-origin.js';
import type { Session } from '../auth/sessions.js';
import { execute, type Submission } from '../commands/execution.js';
import type { ReceiptWriter } from '../commands/receipt.js';
import type { AddressKey } from '../fair-use/addresses.js';
import { Bill, type Quota, type RateLimitResult, signInKey } from '../fair-use/fair-use.js';
import type { AnswerCounts, RouteName } from '../observe/metrics.js';
import { elapsedMs } from '../time/clock.js';
import type { Receivable } from './body.js';
import {
  type ErrorAnswer,
  errorAnswer,
  rateLimited,
  refusalAnswer,
  UNAVAILABLE,
} from './errors.js';
import type { Gateway } from './gateway.js';
import { writeLast } from './last-answer.js';
import type { Request } from './request.js';
import { JSON_TYPE, writeHeadWithId, writeStatus } from './response-head.js';
import type { Recipient } from './unsent-answers.js';

/** The part of a route that its answers depend on. */
export interface AnsweredRoute extends RouteName {
  /**
   * What a request counts as for fair use, or how its body says so. Default: a GET as a read, any
   * other as an order. null: it is not counted.
   */
  quota?: Quota | null | ((body: Uint8Array) => Quota);
  /** Content type of successful answers. Default: application/json. */
  produces?: string;
  /**
   * Present if a success has an ETag and may be compressed (coded-answer.ts). `public`:
   * caches may keep it, and ask each time. `private`: only a client that does so by itself.
   */
  caching?: 'public' | 'private';
}

/** What a request counts as for fair use, unless its body says so; null: it is not counted. */
export function quotaOf({ method, quota }: AnsweredRoute): Quota | null {
  if (quota !== undefined && typeof quota !== 'function') return quota;
  return method === 'GET' ? 'reads' : 'orders';
}

const NOT_REACHED =
  'The sequence in minSequence was not reached in time. Try again, or ask for a lower one.';

/** An answer that another process made, without the headers that all answers have. */
export interface RelayedText {
  status: number;
  contentType: string;
  /** Name, value, name, value. */
  headers: string[];
  body: string | Uint8Array;
}
export type RelayedAnswer = RelayedText & { body: Uint8Array };

export class Call<Body = unknown, Query = unknown>
  implements ReleaseTarget, Recipient, Submission, Receivable<Call>
{
  /** null: nobody is signed in. */
  session: Session | null = null;
  /** The partner whose key was sent; null: none. */
  partner: string | null = null;
  /** The operator whose key was sent; null: none. */
  operator: string | null = null;
  idempotencyKey: string | null = null;
  /** The command that the route read from the bytes of the body; null: the schemas parsed it. */
  command: Command | null = null;
  /** The values that the route's schemas parsed; set before the handler runs. */
  body!: Body;
  query!: Query;

  /** What the request counts as; null: it is not counted. */
  quota: Quota | null;
  private readonly bill = new Bill(this);
  /** The sequence that the answer must include, and whether the client has named it. */
  minSequence = 0;
  namesSequence = false;

  private status = 200;
  private text: string | Uint8Array = '';
  private headers: string[] | null = null;
  private produced: string | null = null;
  /** The RateLimit headers; empty: the request was not counted. */
  private rateLimitHeaders = '';
  readonly receivedMs = elapsedMs();
  isReceiving = false;
  older: Call | null = null;
  newer: Call | null = null;
  /** When the command was applied; 0: not yet. */
  private appliedMs = 0;
  private closeConnection = false;
  private ended = false;
  private isAborted = false;

  constructor(
    readonly gateway: Gateway,
    /** null: no route serves the request. */
    private readonly route: AnsweredRoute | null,
    private readonly counts: AnswerCounts,
    readonly request: Request,
    /** null: a gateway forwarded the request (forwarding/forwarded-call.ts). */
    private readonly response: HttpResponse | null,
    /** Called once, when the request is over. */
    private readonly onEnd: (call: Call) => void,
  ) {
    this.quota = route === null ? null : quotaOf(route);
  }

  /** 0: nobody is signed in. */
  get userId(): number {
    return this.session?.userId ?? 0;
  }

  get engine(): Engine {
    return this.gateway.sequencer.engine;
  }

  /** The request was answered, or the client has left. */
  get isOver(): boolean {
    return this.ended;
  }

  /** A path parameter, decoded; empty if it cannot be decoded. */
  parameter(name: string): string {
    return this.request.parameter(name);
  }

  addHeader(name: string, value: string): void {
    this.headers ??= [];
    this.headers.push(name, value);
  }

  /** Whether the client uses HTTPS, as far as this process can tell. */
  get isSecure(): boolean {
    return this.gateway.config.cookieSecure || this.request.forwardedProto === 'https';
  }

  /**
   * Charges the request `count` in all for fair use: its address, and the user of `payer`, if any.
   * Returns false if that exceeds a limit; the request has then paid nothing, and the client has
   * been answered. `costOf`: what it may cost, if that is not known yet.
   */
  affords(
    count: number,
    payer: Session | null = this.session,
    costOf: (() => number) | null = null,
  ): boolean {
    const { quota, bill } = this;
    if (quota === null) return true;
    bill.payer = payer;
    return this.isGranted(this.gateway.fairUse.charge(quota, bill, count, costOf));
  }

  /** Charges an attempt to sign in with this username from this address. */
  affordsSignIn(username: string): boolean {
    this.bill.signIn = signInKey(this.address, username);
    return this.affords(1);
  }

  /** Counts the request as something else from now on. */
  countAs(quota: Quota): void {
    if (this.quota !== null) this.gateway.fairUse.giveBack(this.quota, this.bill);
    this.quota = quota;
  }

  /** The content type of a successful answer, if it is not the route's usual one. */
  produce(contentType: string): void {
    this.produced = contentType;
  }

  private get contentType(): string {
    return this.status < 400 ? (this.produced ?? this.route?.produces ?? JSON_TYPE) : JSON_TYPE;
  }

  private isGranted(result: RateLimitResult | null): boolean {
    if (result === null) return true;
    const { limit, remaining, resetSeconds } = result;
    this.rateLimitHeaders = `${limit}\r\nRateLimit-Remaining: ${remaining}\r\nRateLimit-Reset: ${resetSeconds}`;
    if (result.granted) return true;
    const { error, retryAfter } = rateLimited(result.waitMs);
    this.addHeader('Retry-After', retryAfter);
    this.refuseNow(error);
    return false;
  }

  /** The client's address. Must not be read once the request is over. */
  get address(): AddressKey {
    return this.request.addressFrom(this.response!);
  }

  /** The same address in full; see {@link Request.addressBytesFrom}. */
  get addressBytes(): Uint8Array {
    return this.request.addressBytesFrom(this.response!);
  }

  /** Closes the connection after the answer, because the rest of the request will not be read. */
  closeAfterAnswer(): void {
    this.closeConnection = true;
  }

  /** Answers with the current state. */
  answer(status: number, text: string | Uint8Array): void {
    this.answerAt(this.engine.sequence, status, text);
  }

  /** Answers with the state as of `sequence`. */
  answerAt(sequence: number, status: number, text: string | Uint8Array): void {
    this.status = status;
    this.text = text;
    this.gateway.sequencer.releaseAt(sequence, this);
  }

  /** Refuses because of the current state. */
  refuseWhenDurable(error: ErrorAnswer): void {
    this.answer(error.status, error.text);
  }

  /** Answers without a body and without state. */
  answerEmpty(status: number): void {
    this.status = status;
    this.release();
  }

  /** Refuses because of the request alone, so the answer need not wait for the disk. */
  refuseNow(error: ErrorAnswer): void {
    this.status = error.status;
    this.text = error.text;
    this.release();
  }

  /** Refuses the request because too much waits for the disk or the follower. */
  refuseOverloaded(): void {
    this.addHeader('Retry-After', '1');
    this.refuseUnavailable();
  }

  refuseUnavailable(): void {
    this.refuseNow(UNAVAILABLE);
  }

  /** Refuses a read because this process has not reached the sequence in time. */
  refuseBehind(): void {
    const { sequence } = this.engine;
    this.addHeader('Retry-After', '1');
    this.refuseNow(errorAnswer('unavailable', { executed: false, sequence }, NOT_REACHED));
  }

  /** Executes a command and answers with its receipt or its error. */
  execute(command: Command, status: number, receipt: ReceiptWriter<string | Uint8Array>): void {
    const result = this.submit(command);
    if (result !== null) this.answer(status, receipt(this.engine, result, 0, command));
  }

  /**
   * Returns the result, valid until the next command; null: the command was refused or rejected,
   * and the client has been answered. `besides`: a rejection that the caller answers.
   */
  submit(command: Command, besides: CodeName | null = null): NumberBuffer | null {
    const { result, refusal, appliedMs } = execute(this.gateway, command, this);
    this.appliedMs = appliedMs;
    if (result !== null && this.engine.replayed) this.addHeader('Idempotency-Replayed', 'true');
    if (refusal === null || refusal.code === besides) return result;
    const { error, retryAfter } = refusalAnswer(refusal);
    if (retryAfter !== null) this.addHeader('Retry-After', retryAfter);
    if (refusal.code === 'unavailable') this.refuseNow(error);
    else this.refuseWhenDurable(error);
    return null;
  }

  /** What the log says about the request. */
  get logFields(): object {
    return { request: this.request.id, route: this.route?.path };
  }

  /** The client has left: nothing may be written from now on. */
  abort(): void {
    this.isAborted = true;
    this.end();
  }

  /** Writes the answer. Called by the release queue once the answer may be sent. */
  release(): void {
    if (this.ended) return;
    this.send();
    this.measure();
    this.end();
  }

  /** Sends the answer. */
  protected send(): void {
    writing = this;
    this.response!.cork(writeNow);
  }

  /** Answers with what the leader has answered. */
  relay({ status, contentType, headers, body }: RelayedAnswer): void {
    this.status = status;
    this.produced = contentType;
    this.headers = headers;
    this.text = body.byteLength === 0 ? '' : body;
    this.release();
  }

  /** The answer for the gateway that relays it, which adds the headers that all answers have. */
  protected get answerToRelay(): RelayedText {
    const { rateLimitHeaders, headers } = this;
    const limits = rateLimitHeaders === '' ? [] : ['RateLimit-Limit', rateLimitHeaders];
    return {
      status: this.status,
      contentType: this.contentType,
      headers: [...limits, ...(headers ?? [])],
      body: this.text,
    };
  }

  private measure(): void {
    const { metrics } = this.gateway;
    const nowMs = elapsedMs();
    if (this.appliedMs !== 0) metrics.commitMs.observe(nowMs - this.appliedMs);
    metrics.requestMs.observe(nowMs - this.receivedMs);
    this.counts.add(this.status);
  }

  /** The corked part of {@link release}. */
  write(): void {
    const { headers } = this;
    const response = this.response!;
    writeStatus(response, this.status);
    writeHeadWithId(
      response,
      this.text === '' ? '' : this.contentType,
      this.isSecure,
      this.request,
      this.status < 400 && this.route?.caching === 'public',
    );
    writeCrossOrigin(response, this.request.origin, this.gateway.config.siteOrigins);
    if (this.rateLimitHeaders !== '')
      response.writeHeader('RateLimit-Limit', this.rateLimitHeaders);
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

  private end(): void {
    if (this.ended) return;
    this.ended = true;
    const { log } = this.gateway;
    if (log.isLevelEnabled('debug')) {
      const { id, method } = this.request;
      const tookMs = Math.round((elapsedMs() - this.receivedMs) * 1_000) / 1_000;
      log.debug(
        {
          request: id,
          method,
          route: this.route?.path,
          user: this.userId,
          status: this.status,
          tookMs,
        },
        this.isAborted ? 'the client left before the answer' : 'answered',
      );
    }
    this.onEnd(this as unknown as Call);
  }
}

/** The call whose answer is being written; avoids a closure per answer. */
let writing: Call | null = null;
function writeNow(): void {
  writing!.write();
  writing = null;
}
