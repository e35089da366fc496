/**
 * Order entry over the stream: the operations of POST /batch and of single routes, without HTTP.
 *
 * Always holds:
 * - a request is counted, refused and executed like the same request over HTTP, and it gets one
 *   answer, once everything that the answer shows is durable;
 * - a connection has at most `outstandingRequests` unanswered requests;
 * - a request that is not executed costs the connection some of its operations, too (limits.ts), so
 *   a client that ignores refusals is closed.
 */
import { numberedKey } from '../../../engine/interface/client-sequence.js';
import type { Wanted } from '../../access/fair-use/charges.js';
import { Bill } from '../../access/fair-use/fair-use.js';
import { execute } from '../../commands/execution.js';
import { admitCommand } from '../../http/admission.js';
import { type ErrorAnswer, refusalAnswer, UNAVAILABLE } from '../../http/errors.js';
import type { Gateway } from '../../http/gateway.js';
import { textBuffers } from '../../json/text-buffers.js';
import { elapsedMs } from '../../observe/clock.js';
import type { AnswerCounts } from '../../observe/metrics.js';
import { type Explained, explanationOf, mayNeedExplanation } from '../../resources/ended-market.js';
import type { Reader } from '../../resources/history/read.js';
import { errorText } from '../channels/message-text.js';
import type { Connection } from '../connection.js';
import { orderAnswer } from './answers.js';
import { type OrderRequest, tooManyUnanswered } from './order-messages.js';

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

  /**
   * Why a request is not executed, before the engine sees it; null: it is. `bill`: of the
   * connection, if it has paid before.
   */
  admit(connection: Connection, wanted: Wanted, bill = new Bill(connection)): ErrorAnswer | null {
    const { gateway, outstandingMax } = this;
    if (gateway.isStopping()) return UNAVAILABLE;
    const { refusal } = admitCommand(gateway, connection.session, connection, bill, wanted);
    return refusal ?? (connection.outstanding >= outstandingMax ? this.tooMany : null);
  }

  /** Executes a request that was admitted, or says why not. */
  execute(
    connection: Connection,
    { id, command, clientSequence }: OrderRequest,
    bill: Bill,
    receivedMs: number,
  ): ErrorAnswer | null {
    const { gateway } = this;
    const { engine } = gateway.sequencer;
    if (clientSequence !== 0)
      command.idempotencyKey = numberedKey(connection.session!.tokenId, clientSequence);
    const logFields = { user: connection.userId, stream: command.kind };
    const done = execute(gateway, command, { receivedMs, logFields, bill });
    const { result } = done;
    if (result === null) return refusalAnswer(done.refusal!).error;
    const isReplayed = engine.replayed;
    const { appliedMs } = done;
    const answered = { id, command, isReplayed };
    const explain = mayNeedExplanation(result)
      ? explanationOf(
          readerOf(gateway, connection),
          result,
          command,
          (kept, errors) => orderAnswer(engine, kept, answered, errors).text,
        )
      : null;
    const of = { id, isBatch: command.kind === 'batch', receivedMs, appliedMs };
    if (explain === null) this.answer(connection, of, orderAnswer(engine, result, answered));
    else this.answerExplained(connection, of, explain);
    return null;
  }

  /** Where the answers are counted. */
  countsOf(isBatch: boolean): AnswerCounts {
    return isBatch ? this.counts.batch : this.counts.order;
  }

  private answer(connection: Connection, of: Executed, answered: Explained): void {
    const release = () => connection.inTurn(() => this.send(connection, of, answered));
    this.whenDurable(connection, release);
  }

  /** Later answers wait until the history was asked. */
  private answerExplained(
    connection: Connection,
    of: Executed,
    explain: (answer: (explained: Explained) => void) => void,
  ): void {
    let send: (() => void) | null = null;
    let take: ((send: () => void) => void) | null = null;
    this.whenDurable(connection, () => {
      take = connection.keepTurn();
      if (send !== null) take(send);
    });
    explain(({ status, text: said }) => {
      const text = status === 200 ? said : errorText({ status, text: said as string }, of);
      send = () => this.send(connection, of, { status, text });
      take?.(send);
    });
  }

  private whenDurable(connection: Connection, release: () => void): void {
    const { sequencer } = this.gateway;
    connection.outstanding++;
    sequencer.releaseAt(sequencer.engine.sequence, { release });
  }

  private send(connection: Connection, of: Executed, { text, status }: Explained): void {
    const { metrics } = this.gateway;
    connection.answerRequest(text);
    // It was copied for the connection.
    if (typeof text !== 'string') textBuffers.give(text);
    const nowMs = elapsedMs();
    metrics.commitMs.observe(nowMs - of.appliedMs);
    metrics.requestMs.observe(nowMs - of.receivedMs);
    this.countsOf(of.isBatch).add(status);
  }
}

interface Executed {
  id: string;
  isBatch: boolean;
  receivedMs: number;
  appliedMs: number;
}

/** Whose read of the history it is. */
function readerOf(gateway: Gateway, connection: Connection): Reader {
  const { session, address } = connection;
  return {
    gateway,
    session,
    address,
    minSequence: 0,
    onLeft: null,
    get isOver() {
      return !connection.isOpen;
    },
  };
}
