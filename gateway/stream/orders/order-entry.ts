/**
 * Order entry over the stream: the admission of POST /batch and of the single routes, without HTTP.
 *
 * Always holds:
 * - a request is counted, refused and executed like the same request over HTTP, and it gets one
 *   answer, once everything that the answer shows is durable;
 * - a connection has at most `outstandingRequests` unanswered requests;
 * - a request that is not executed costs the connection one of its operations (limits.ts), so a
 *   client that ignores refusals is closed.
 */
import { numberedKey } from '../../../engine/interface/client-sequence.js';
import type { ReleaseTarget } from '../../../persistence/sequencer.js';
import { Scope } from '../../auth/sessions.js';
import { onlyCancels } from '../../commands/cancels.js';
import { execute } from '../../commands/execution.js';
import { Bill } from '../../fair-use/fair-use.js';
import {
  type ErrorAnswer,
  errorAnswer,
  rateLimited,
  refusalAnswer,
  scopeInsufficient,
  UNAVAILABLE,
} from '../../http/errors.js';
import type { Gateway } from '../../http/gateway.js';
import { textBuffers } from '../../json/text-buffers.js';
import type { AnswerCounts } from '../../observe/metrics.js';
import { elapsedMs } from '../../time/clock.js';
import { errorText } from '../channels/message-text.js';
import type { Connection } from '../connection.js';
import { batchAnswer, operationAnswer } from './answers.js';
import { NOT_SIGNED_IN, type OrderRequest, tooManyUnanswered } from './order-messages.js';

const READ_ONLY = scopeInsufficient('read', 'trade');

export class OrderEntry {
  private readonly tooMany: ErrorAnswer;
  private readonly counts: Record<'order' | 'batch', AnswerCounts>;

  constructor(
    private readonly gateway: Gateway,
    private readonly outstandingMax: number,
  ) {
    this.tooMany = tooManyUnanswered(outstandingMax);
    this.counts = {
      order: gateway.metrics.answersOf({ method: 'WS', path: '/stream order' }),
      batch: gateway.metrics.answersOf({ method: 'WS', path: '/stream batch' }),
    };
  }

  /** Why the connection can send no orders, or no cancels, now; null: it can. */
  refusal(connection: Connection, what: 'orders' | 'cancels'): ErrorAnswer | null {
    const { gateway } = this;
    const { overload } = gateway;
    if (gateway.isStopping()) return UNAVAILABLE;
    if (what === 'cancels' ? overload.refusesCancel() : overload.refusesChange())
      return UNAVAILABLE;
    const { session } = connection;
    if (session === null) return NOT_SIGNED_IN;
    const fault = gateway.sessions.faultOf(session, gateway.sequencer.engine);
    if (fault !== null) return errorAnswer(fault);
    if (session.scope < Scope.TRADE) return READ_ONLY;
    if (session.tokenId !== 0) session.lastUsedAtMs = gateway.sequencer.engine.nowMs;
    return connection.outstanding >= this.outstandingMax ? this.tooMany : null;
  }

  /** Executes a request, or says why not. */
  execute(
    connection: Connection,
    { id, command, clientSequence }: OrderRequest,
    receivedMs: number,
  ): ErrorAnswer | null {
    const quota = onlyCancels(command) ? 'cancels' : 'orders';
    const refused =
      this.refusal(connection, quota) ?? this.rateLimit(connection, quota, operationsOf(command));
    if (refused !== null) return refused;
    const { gateway } = this;
    const { engine } = gateway.sequencer;
    if (clientSequence !== 0)
      command.idempotencyKey = numberedKey(connection.session!.tokenId, clientSequence);
    const logFields = { user: connection.userId, stream: command.kind };
    const done = execute(gateway, command, { receivedMs, logFields });
    const { result, refusal } = done;
    const error = refusal === null ? null : refusalAnswer(refusal).error;
    if (result === null) return error;
    const text =
      error === null
        ? command.kind === 'batch'
          ? batchAnswer(engine, result, id, engine.replayed, command.operations)
          : operationAnswer(engine, result, id, engine.replayed, command)
        : errorText(error, { id });
    const counts = command.kind === 'batch' ? this.counts.batch : this.counts.order;
    const answer = new Answer(gateway, connection, text, counts, error?.status ?? 200);
    answer.receivedMs = receivedMs;
    answer.appliedMs = done.appliedMs;
    connection.outstanding++;
    gateway.sequencer.releaseAt(engine.sequence, answer);
    return null;
  }

  private rateLimit(
    connection: Connection,
    quota: 'orders' | 'cancels',
    operations: number,
  ): ErrorAnswer | null {
    const bill = new Bill(connection);
    bill.payer = connection.session;
    const result = this.gateway.fairUse.charge(quota, bill, operations);
    return result === null || result.granted ? null : rateLimited(result.waitMs).error;
  }
}

function operationsOf(command: OrderRequest['command']): number {
  return command.kind === 'batch' ? command.operations.length : 1;
}

/** An answer that waits until it is durable. */
class Answer implements ReleaseTarget {
  receivedMs = 0;
  appliedMs = 0;

  constructor(
    private readonly gateway: Gateway,
    private readonly connection: Connection,
    private readonly text: string | Uint8Array,
    private readonly counts: AnswerCounts,
    private readonly status: number,
  ) {}

  release(): void {
    const { metrics } = this.gateway;
    this.connection.answerRequest(this.text);
    // It was copied for the connection.
    if (typeof this.text !== 'string') textBuffers.give(this.text);
    const nowMs = elapsedMs();
    metrics.commitMs.observe(nowMs - this.appliedMs);
    metrics.requestMs.observe(nowMs - this.receivedMs);
    this.counts.add(this.status);
  }
}
