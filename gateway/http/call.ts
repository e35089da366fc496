/**
 * An API request in progress: its target, sender, charges and command. Calls are not pooled, since
 * garbage collection takes only 1 to 2% of the trading thread.
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
import { conclude } from '../commands/conclusion.js';
import {
  type ErrorAnswer,
  type ErrorCode,
  errorAnswer,
  refusalAnswer,
} from '../commands/errors.js';
import {
  type Execution,
  execute,
  isAtomicBatch,
  type Refusal,
  refusalIn,
  type Submission,
} from '../commands/execution.js';
import type { Admission } from '../commands/intake.js';
import type { ReceiptWriter } from '../commands/receipt.js';
import { jsonText, type Writable } from '../json/serializer.js';
import type { Writer } from '../json/writer.js';
import type { AnswerCounts } from '../observe/metrics.js';
import { Answer, type AnsweredRoute } from './answers/answer.js';
import type { Gateway } from './gateway.js';
import type { InFlight } from './in-flight.js';
import type { Asking, Request } from './request.js';

/**
 * The quota unless the body decides; `null` if uncounted. Default: `reads` for GET, else `orders`.
 */
export function quotaOf({ method, quota }: AnsweredRoute): Quota | null {
  if (quota !== undefined && typeof quota !== 'function') return quota;
  return method === 'GET' ? 'reads' : 'orders';
}

export class Call<Body = unknown, Query = unknown>
  extends Answer<Gateway>
  implements Submission, Asking
{
  session: Session | null = null;
  partner: string | null = null;
  operator: string | null = null;
  idempotencyKey: string | null = null;
  /** The command read straight from the body's bytes; `null` if the schemas parsed the body. */
  command: Command | null = null;
  /** The value parsed by the route's body schema. Set before the handler runs. */
  body!: Body;
  query!: Query;

  quota: Quota | null;
  leastUnits = 1;
  /** The smallest sequence that the answer may have, and whether the client named it. */
  minSequence = 0;
  namesSequence = false;

  constructor(
    gateway: Gateway,
    route: AnsweredRoute | null,
    counts: AnswerCounts,
    request: Request,
    response: HttpResponse | null,
    inFlight: InFlight<Answer>,
  ) {
    super(gateway, route, counts, request, response, inFlight);
    this.quota = route === null ? 'reads' : quotaOf(route);
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

  get trueAt(): TrueAt {
    const { sequence, nowMs: atMs } = this.engine;
    return { sequence, atMs };
  }

  /** Returns a decoded path parameter; empty if it cannot be decoded. */
  parameter(name: string): string {
    return this.request.parameter(name);
  }

  /**
   * Charges the address and the user, if any, `count` units in total, at least the body's cost.
   * Otherwise like {@link Answer.pays}.
   */
  affords(count: number): boolean {
    if (this.quota === null) return true;
    this.bill.payer = this.session;
    return this.pays(this.quota, Math.max(count, this.leastUnits));
  }

  /** Adds `count` units to the charge without checking the limit. */
  owes(count: number): void {
    if (count === 0 || this.quota === null || this.isOver) return;
    this.rateLimit = this.gateway.fairUse.owe(this.bill, count);
  }

  affordsSignIn(username: string): boolean {
    this.bill.signIn = signInKey(this.address, username);
    return this.affords(1);
  }

  /** Answers with the state at `sequence`, once that is durable. By default, the current state. */
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
   * Answers monitoring requests about the process, without waiting for commits or the lease,
   * because the process's counts need not be durable. Sends nothing after a failure.
   */
  answerOfProcess(status: number, text: string): void {
    if (this.gateway.sequencer.failure === null) this.answerNow(status, text);
  }

  answerJson<Schema extends z.ZodType>(value: Writable<Schema>, sequence?: number): void {
    this.answerWhenDurable(200, jsonText<Schema>(value), sequence);
  }

  /** Like {@link answerJson}, but written from `source`. */
  answer<Source extends object>(
    writer: Writer<Source, Engine>,
    source: Source & Partial<TrueAt>,
    sequence?: number,
  ): void {
    this.answerWhenDurable(200, writer.text(source, this.engine), sequence);
  }

  /** Returns whether the value exists; if not, refuses the request with `code`. */
  finds<Found>(found: Found, code: ErrorCode): found is NonNullable<Found> {
    if (found !== null && found !== undefined) return true;
    return this.refuseWhenDurable(errorAnswer(code));
  }

  refuseAdmission({ refusal, retryAfter, isOfState }: Admission): false {
    if (retryAfter !== null) this.addHeader('Retry-After', retryAfter);
    return isOfState ? this.refuseWhenDurable(refusal!) : this.refuseNow(refusal!);
  }

  /** Like {@link refuseNow}, but waits until the current state is durable. */
  refuseWhenDurable({ status, text }: ErrorAnswer): false {
    this.answerWhenDurable(status, text);
    return false;
  }

  /** Executes a command and answers with `status` and its receipt, or with its refusal. */
  execute(command: Command, status: number, receipt: ReceiptWriter<string | Uint8Array>): void {
    const { result, refusal } = this.run(command);
    if (result === null) {
      this.refuseFor(refusal!);
      return;
    }
    const concluding = { asker: this, read: () => command, receipt };
    conclude(result, concluding, ({ result: found, explained, isReplayed }) => {
      if (isReplayed) this.addHeader('Idempotency-Replayed', 'true');
      if (explained !== null) {
        this.answerWhenDurable(explained.status, explained.text);
        return;
      }
      const refused = found === result ? refusal : refusalIn(found, isAtomicBatch(command));
      if (refused !== null) this.refuseFor(refused);
      else this.answerWhenDurable(status, receipt(this.engine, found, 0, command));
    });
  }

  /**
   * Returns the result, valid until the next command. If the command fails, answers with the error
   * and returns `null`. The caller handles the code `besides` itself.
   */
  submit(command: Command, besides: CodeName | null = null): NumberBuffer | null {
    const { result, refusal } = this.run(command);
    if (refusal === null || refusal.code === besides) return result;
    this.refuseFor(refusal);
    return null;
  }

  private run(command: Command): Execution {
    const execution = execute(this.gateway, command, this);
    this.appliedMs = execution.appliedMs;
    return execution;
  }

  private refuseFor(refusal: Refusal): void {
    const { error, retryAfter } = refusalAnswer(refusal);
    if (retryAfter !== null) this.addHeader('Retry-After', retryAfter);
    if (refusal.code === 'unavailable') this.refuseNow(error);
    else this.refuseWhenDurable(error);
  }
}
