/**
 * One call of the API: what came in, and the answer on its way out. It is a target of the release queue: an answer that shows the
 * exchange's state leaves when everything up to the sequence it is true at is durable.
 *
 * Always holds: exactly one answer is written, in one cork, or none if the client has left or the exchange has failed.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { Engine } from '../../engine/engine.js';
import { CODES, Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { FrameError } from '../../persistence/journal/frames.js';
import { type ReleaseTarget, SubmitRefused } from '../../persistence/sequencer.js';
import type { Session } from '../auth/sessions.js';
import type { AddressKey } from '../fair-use/addresses.js';
import { type Quota, type Share, triedKey } from '../fair-use/fair-use.js';
import { elapsedMs } from '../time/clock.js';
import { type ErrorAnswer, errorAnswer, rateLimited, rejection } from './errors.js';
import type { Gateway } from './gateway.js';
import { writeLast } from './last-answer.js';
import type { ReceiptWriter } from './receipt.js';
import type { Request } from './request.js';
import { requestAddress } from './request-address.js';
import { JSON_TYPE, writeHead, writeStatus } from './response-head.js';
import { quotaOf, type Route } from './route.js';
import type { Recipient } from './unsent-answers.js';

export class RequestContext<Body = unknown, Query = unknown> implements ReleaseTarget, Recipient {
  /** Who is signed in; null: nobody. */
  session: Session | null = null;
  /** Whose partner key it is; null: nobody's. */
  partner: string | null = null;
  idempotencyKey: string | null = null;
  /** What the route's schemas made of the request; set before the handler runs. */
  body!: Body;
  query!: Query;

  private status = 200;
  private text: string | Uint8Array = '';
  private headers: string[] | null = null;
  /** How much is left of a share that the request was counted against; empty: it was not. */
  private share = '';
  readonly receivedMs = elapsedMs();
  /** When the command was executed; 0: there is none. */
  private appliedMs = 0;
  private closeConnection = false;
  private ended = false;
  private isAbandoned = false;

  constructor(
    readonly gateway: Gateway,
    readonly route: Route | null,
    readonly incoming: Request,
    private readonly response: HttpResponse,
    /** Told once, when the call is over. */
    private readonly onEnd: (call: RequestContext) => void,
  ) {}

  /** Who is signed in; 0: nobody. */
  get userId(): number {
    return this.session?.userId ?? 0;
  }

  get engine(): Engine {
    return this.gateway.sequencer.engine;
  }

  /** The call is over: answered, or left by the client. */
  get isOver(): boolean {
    return this.ended;
  }

  /** A path parameter, decoded; empty if it cannot be. */
  parameter(name: string): string {
    return this.incoming.parameter(name);
  }

  addHeader(name: string, value: string): void {
    this.headers ??= [];
    this.headers.push(name, value);
  }

  /** Whether the client came over HTTPS, as far as this process can know. */
  get isSecure(): boolean {
    return this.gateway.config.cookieSecure || this.incoming.forwardedProto === 'https';
  }

  /** Whether `count` more of the kind of this route may be asked for from this address; if not, the client has been told. */
  takeOfAddress(count: number): boolean {
    const { quota } = this;
    const { fairUse } = this.gateway;
    if (quota === null || !fairUse.limits(quota, 'address')) return true;
    return this.hasShare(fairUse.take(quota, 'address', this.address, count));
  }

  /** The same from the address of somebody who is signed in, and of that user. */
  takeOfSession(session: Session, count: number): boolean {
    const { quota } = this;
    if (quota === null) return true;
    const { fairUse } = this.gateway;
    const share = fairUse.takeOfAddress(session, quota, () => this.address, count);
    return this.hasShare(share) && this.hasShare(fairUse.take(quota, 'user', session.userId, count));
  }

  /** The same from whoever the call is of: for one that counts more than others, of which one is taken already. */
  takeMore(count: number): boolean {
    return this.session === null ? this.takeOfAddress(count) : this.takeOfSession(this.session, count);
  }

  /** The same of a name that somebody tries to sign in with from this address. */
  takeOfTriedName(username: string): boolean {
    const { quota } = this;
    const tried = triedKey(this.address, username);
    return quota === null || this.hasShare(this.gateway.fairUse.take(quota, 'user', tried, 1));
  }

  private get contentType(): string {
    return this.status < 400 ? (this.route?.produces ?? JSON_TYPE) : JSON_TYPE;
  }

  private get quota(): Quota | null {
    return this.route === null ? null : quotaOf(this.route);
  }

  private hasShare(share: Share | null): boolean {
    if (share === null) return true;
    const { limit, remaining, resetSeconds } = share;
    this.share = `${limit}\r\nRateLimit-Remaining: ${remaining}\r\nRateLimit-Reset: ${resetSeconds}`;
    if (share.granted) return true;
    const { error, retryAfter } = rateLimited(share.waitMs);
    this.addHeader('Retry-After', retryAfter);
    this.refuse(error);
    return false;
  }

  /** The client's, or what our proxy says it is. Not to be asked for when the call is over. */
  get address(): AddressKey {
    return requestAddress(this.response, this.incoming);
  }

  /** Ends the connection with the answer, for clients that would go on sending what nobody reads. */
  hangUp(): void {
    this.closeConnection = true;
  }

  /** Answers with something that shows the state of now. */
  answer(status: number, text: string | Uint8Array): void {
    this.answerAt(this.engine.sequence, status, text);
  }

  /** Answers with something that shows the state as of `sequence`. */
  answerAt(sequence: number, status: number, text: string | Uint8Array): void {
    this.status = status;
    this.text = text;
    this.gateway.sequencer.releaseAt(sequence, this);
  }

  /** Refuses because of the state of now. */
  answerError(error: ErrorAnswer): void {
    this.answer(error.status, error.text);
  }

  /** Refuses because of the request alone, so there is nothing to wait for. */
  refuse(error: ErrorAnswer): void {
    this.status = error.status;
    this.text = error.text;
    this.release();
  }

  refuseUnavailable(): void {
    this.refuse(errorAnswer('unavailable', { executed: false }));
  }

  /** Has a command executed and answers with its receipt, or with why it was rejected. */
  execute(command: Command, status: number, receipt: ReceiptWriter): void {
    const result = this.submit(command);
    if (result === null) return;
    if (result.values[ResultHead.code] === Code.ok) this.answer(status, receipt(this.engine, result, 0));
    else this.answerRejected(result);
  }

  /** The result, valid until the next command; null: the exchange takes none now, and the client has been told. */
  submit(command: Command): NumberBuffer | null {
    if (this.gateway.halted() !== null) {
      this.refuseUnavailable();
      return null;
    }
    const { metrics, sequencer } = this.gateway;
    const startedMs = elapsedMs();
    try {
      const result = sequencer.submit(command);
      this.appliedMs = elapsedMs();
      metrics.queueMs.observe(startedMs - this.receivedMs);
      metrics.applyMs.observe(this.appliedMs - startedMs);
      if (this.engine.replayed) this.addHeader('Idempotency-Replayed', 'true');
      return result;
    } catch (error) {
      if (error instanceof FrameError) {
        // It changed nothing. A schema let something through that no journal can hold: a fault, but not a reason to stop.
        this.gateway.log.error({ route: this.route?.path, reason: error.message }, 'a command has no frame');
        this.answerError(rejection('invalid_command', 0, 0));
        return null;
      }
      if (!(error instanceof SubmitRefused)) throw error;
      this.gateway.warnings.warn(
        { request: this.incoming.id, reason: error.message },
        'a command was refused',
      );
      this.refuseUnavailable();
      return null;
    }
  }

  answerRejected(result: NumberBuffer): void {
    const { values } = result;
    const name = CODES[values[ResultHead.code]!]!;
    if (name === 'invalid_command') {
      this.gateway.log.error(
        { request: this.incoming.id, route: this.route?.path },
        'the engine refused what the schemas let through',
      );
    }
    // The fields of a reject: required and available.
    const [required, available] = [values[RESULT_HEAD_LENGTH]!, values[RESULT_HEAD_LENGTH + 1]!];
    this.answerError(rejection(name, required, available));
  }

  /** The client has gone: nothing may be written any more. */
  abort(): void {
    this.isAbandoned = true;
    this.end();
  }

  /** Writes the answer. Called by the release queue when the answer may leave. */
  release(): void {
    if (this.ended) return;
    writing = this;
    this.response.cork(writeNow);
    this.measure();
    this.end();
  }

  private measure(): void {
    const { metrics } = this.gateway;
    const nowMs = elapsedMs();
    if (this.appliedMs !== 0) metrics.commitMs.observe(nowMs - this.appliedMs);
    metrics.requestMs.observe(nowMs - this.receivedMs);
    metrics.answered(this.route, this.status);
  }

  /** The part of {@link release} that runs corked. */
  write(): void {
    const { response, headers } = this;
    writeStatus(response, this.status);
    writeHead(response, this.text === '' ? '' : this.contentType, this.isSecure);
    response.writeHeader('X-Request-Id', this.incoming.id);
    if (this.share !== '') response.writeHeader('RateLimit-Limit', this.share);
    for (let i = 0; headers !== null && i < headers.length; i += 2) {
      response.writeHeader(headers[i]!, headers[i + 1]!);
    }
    this.writeBody();
  }

  private writeBody(): void {
    const { response, text, gateway } = this;
    if (text === '') writeLast(response, '');
    else if (this.incoming.method === 'head') writeLast(response, '', Buffer.byteLength(text));
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
      const { id, method } = this.incoming;
      const tookMs = Math.round((elapsedMs() - this.receivedMs) * 1_000) / 1_000;
      log.debug(
        { request: id, method, route: this.route?.path, user: this.userId, status: this.status, tookMs },
        this.isAbandoned ? 'the client left before the answer' : 'answered',
      );
    }
    this.onEnd(this as unknown as RequestContext);
  }
}

/** The call whose answer is being written; saves a closure for each answer. */
let writing: RequestContext | null = null;
function writeNow(): void {
  writing!.write();
  writing = null;
}
