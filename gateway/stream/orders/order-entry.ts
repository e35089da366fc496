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
import { Bill } from '../../access/fair-use/fair-use.js';
import { Scope } from '../../access/sessions.js';
import type { RecordSummary } from '../../commands/cancels.js';
import { onlyCancels } from '../../commands/cancels.js';
import { execute } from '../../commands/execution.js';
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
import { elapsedMs } from '../../observe/clock.js';
import type { AnswerCounts } from '../../observe/metrics.js';
import type { Connection } from '../connection.js';
import { orderAnswer } from './answers.js';
import { NOT_SIGNED_IN, type OrderRequest, tooManyUnanswered } from './order-messages.js';

const READ_ONLY = scopeInsufficient('read', 'trade');

/** Who executes the orders of a stream, if not this process: on a replica, the leader. */
export interface OrdersElsewhere {
  /** A client has signed in: the leader must know if its end cancels its orders. */
  signedIn(connection: Connection): void;
  /** Returns why it is not sent there; null: it is, and will be answered. */
  send(connection: Connection, request: OrderRequest): ErrorAnswer | null;
  /** The client has left. */
  closed(connection: Connection): void;
}

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
    const operations = command.kind === 'batch' ? command.operations.length : 1;
    const refused = this.admit(connection, { onlyCancels: onlyCancels(command), operations });
    if (refused !== null) return refused;
    const { gateway } = this;
    const { engine } = gateway.sequencer;
    if (clientSequence !== 0)
      command.idempotencyKey = numberedKey(connection.session!.tokenId, clientSequence);
    const logFields = { user: connection.userId, stream: command.kind };
    const done = execute(gateway, command, { receivedMs, logFields });
    const { result } = done;
    if (result === null) return refusalAnswer(done.refusal!).error;
    const isReplayed = engine.replayed;
    const { text, status } = orderAnswer(engine, result, { id, command, isReplayed });
    const send = () => {
      connection.answerRequest(text);
      // It was copied for the connection.
      if (typeof text !== 'string') textBuffers.give(text);
    };
    const { appliedMs } = done;
    const isBatch = command.kind === 'batch';
    this.answerLater(connection, isBatch, { send, status, receivedMs, appliedMs });
    return null;
  }

  /** Why a request is not executed, before the engine sees it; null: it is. */
  admit(
    connection: Connection,
    { onlyCancels, operations }: Pick<RecordSummary, 'onlyCancels' | 'operations'>,
  ): ErrorAnswer | null {
    const quota = onlyCancels ? 'cancels' : 'orders';
    return this.refusal(connection, quota) ?? this.rateLimit(connection, quota, operations);
  }

  /** Where the answers are counted. */
  countsOf(isBatch: boolean): AnswerCounts {
    return isBatch ? this.counts.batch : this.counts.order;
  }

  private answerLater(
    connection: Connection,
    isBatch: boolean,
    { send, status, receivedMs, appliedMs }: Executed,
  ): void {
    const { metrics, sequencer } = this.gateway;
    const counts = this.countsOf(isBatch);
    connection.outstanding++;
    const release = () => {
      send();
      const nowMs = elapsedMs();
      metrics.commitMs.observe(nowMs - appliedMs);
      metrics.requestMs.observe(nowMs - receivedMs);
      counts.add(status);
    };
    sequencer.releaseAt(sequencer.engine.sequence, { release });
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

interface Executed {
  send: () => void;
  status: number;
  receivedMs: number;
  appliedMs: number;
}
