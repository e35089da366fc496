/**
 * One API request on its way: what it asks for, who sent it, what it has paid and what it executes.
 * Its {@link Answer} is a part of it. Calls are not pooled: the collection of garbage takes 1 to 2%
 * of the trading thread.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { z } from 'zod';
import type { Engine } from '../../engine/engine.js';
import type { CodeName } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import type { Assets } from '../../engine/interface/notation.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import type { TrueAt } from '../../persistence/history/true-at.js';
import { unitsOfAnswer } from '../access/fair-use/charges.js';
import { type Quota, signInKey } from '../access/fair-use/fair-use.js';
import type { Session } from '../access/sessions.js';
import { execute, type Submission } from '../commands/execution.js';
import type { ReceiptWriter } from '../commands/receipt.js';
import { jsonText, type Writable } from '../json/serializer.js';
import type { AnswerCounts } from '../observe/metrics.js';
import { Answer, type AnsweredRoute } from './answers/answer.js';
import { type ErrorAnswer, type ErrorCode, errorAnswer, refusalAnswer } from './errors.js';
import type { Gateway } from './gateway.js';
import type { InFlight } from './in-flight.js';
import type { Asking, Request } from './request.js';

/** The part of a route that a call depends on. */
export interface CalledRoute extends AnsweredRoute {
  /**
   * Answers a command that the engine refused, all or a part of it, with more than the engine says;
   * false: it has no more to say.
   */
  explains?(call: Call, result: NumberBuffer, command: Command): boolean;
}

/**
 * What a request counts as for fair use, unless its body says so; null: it is not counted. Default:
 * a GET as a read, any other as an order.
 */
export function quotaOf({ method, quota }: AnsweredRoute): Quota | null {
  if (quota !== undefined && typeof quota !== 'function') return quota;
  return method === 'GET' ? 'reads' : 'orders';
}

export class Call<Body = unknown, Query = unknown>
  extends Answer<Gateway>
  implements Submission, Asking
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
  private readonly explains: CalledRoute['explains'];
  /** What it costs at least: its body. */
  leastUnits = 1;
  /** The sequence that the answer must include, and whether the client has named it. */
  minSequence = 0;
  namesSequence = false;

  constructor(
    gateway: Gateway,
    route: CalledRoute | null,
    counts: AnswerCounts,
    request: Request,
    response: HttpResponse | null,
    inFlight: InFlight<Answer>,
  ) {
    super(gateway, route, counts, request, response, inFlight);
    this.quota = route === null ? 'reads' : quotaOf(route);
    this.explains = route?.explains;
  }

  get userId(): number {
    return this.session?.userId ?? 0;
  }

  get tokenId(): number {
    return this.session?.tokenId ?? 0;
  }

  get assets(): Assets {
    return this.engine;
  }

  get engine(): Engine {
    return this.gateway.sequencer.engine;
  }

  /** The sequence and time of the current state. */
  get trueAt(): TrueAt {
    const { sequence, nowMs: atMs } = this.engine;
    return { sequence, atMs };
  }

  /** A path parameter, decoded; empty if it cannot be decoded. */
  parameter(name: string): string {
    return this.request.parameter(name);
  }

  /**
   * Charges the request `count` in all for fair use, at least what its body costs: its address, and
   * the user of `payer`, if any. As {@link Answer.pays}.
   */
  affords(count: number, payer: Session | null = this.session): boolean {
    if (this.quota === null) return true;
    this.bill.payer = payer;
    return this.pays(this.quota, Math.max(count, this.leastUnits));
  }

  /** It has cost so much besides. */
  owes(count: number): void {
    if (count === 0 || this.quota === null || this.isOver) return;
    this.rateLimit = this.gateway.fairUse.owe(this.bill, count);
  }

  /** Charges an attempt to sign in with this username from this address. */
  affordsSignIn(username: string): boolean {
    this.bill.signIn = signInKey(this.address, username);
    return this.affords(1);
  }

  /** Answers with the exchange's state as of `sequence`; by default, the current state. */
  answerWhenDurable(
    status: number,
    text: string | Uint8Array,
    sequence = this.engine.sequence,
  ): void {
    if (this.quota === 'reads') this.owes(unitsOfAnswer(text));
    this.prepare(status, text);
    this.gateway.sequencer.releaseAt(sequence, this);
  }

  /**
   * Answers about the process, for those who watch it, while commits or the lease are waited for:
   * what it counts need not be durable. Never after a failure.
   */
  answerOfProcess(status: number, text: string): void {
    if (this.gateway.sequencer.failure === null) this.answerNow(status, text);
  }

  /** {@link answerWhenDurable}: 200 and a value of the schema. */
  answerJson<Schema extends z.ZodType>(value: Writable<Schema>, sequence?: number): void {
    this.answerWhenDurable(200, jsonText<Schema>(value), sequence);
  }

  /** Whether what was asked for exists. If not, the request has been refused. */
  finds<Found>(found: Found, code: ErrorCode): found is NonNullable<Found> {
    if (found !== null && found !== undefined) return true;
    return this.refuseWhenDurable(errorAnswer(code));
  }

  /** Refuses because of the current state. */
  refuseWhenDurable({ status, text }: ErrorAnswer): false {
    this.answerWhenDurable(status, text);
    return false;
  }

  execute(command: Command, status: number, receipt: ReceiptWriter<string | Uint8Array>): void {
    const result = this.submit(command);
    if (result === null || this.explains?.(this, result, command)) return;
    this.answerWhenDurable(status, receipt(this.engine, result, 0, command));
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
    else if (!this.explains?.(this, result!, command)) this.refuseWhenDurable(error);
    return null;
  }
}
