/**
 * Order entry over the stream: the operations of POST /batch and of the single routes.
 *
 * Invariants:
 * - A request is charged, refused and executed like the same request over HTTP. It gets one answer,
 *   sent once everything in it is durable.
 * - A connection has at most `outstandingRequests` unanswered requests.
 * - A refused request also costs the connection operations (limits.ts), so a client that ignores
 *   refusals is closed.
 */
import { numberedKey } from '../../../engine/interface/client-sequence.js';
import type { Cost } from '../../access/fair-use/charges.js';
import { Bill } from '../../access/fair-use/fair-use.js';
import { type ErrorAnswer, refusalAnswer } from '../../commands/errors.js';
import { execute } from '../../commands/execution.js';
import { finalizeResult } from '../../commands/final-result.js';
import type { HistoryReader } from '../../commands/history-query.js';
import { admitOrder } from '../../commands/intake.js';
import type { ExplainedResult } from '../../commands/past-market-errors.js';
import type { Gateway } from '../../http/gateway.js';
import { textBuffers } from '../../json/text-buffers.js';
import { elapsedMs } from '../../observe/clock.js';
import type { AnswerCounts } from '../../observe/metrics.js';
import { batchReceipt } from '../../resources/batch/receipts.js';
import type { Connection } from '../connection.js';
import { orderAnswer, writtenAnswer } from './answers.js';
import { type OrderRequest, tooManyUnanswered } from './order-messages.js';

/** Forwards a replica's orders to the leader for execution. */
export interface OrdersElsewhere {
  /** Called when a client signs in. The leader needs this for cancelOnDisconnect. */
  signedIn(connection: Connection): void;
  /** Returns why the request cannot be forwarded, or `null` if an answer will follow. */
  send(connection: Connection, request: OrderRequest, units: number): ErrorAnswer | null;
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

  /** Charges a request. Returns its refusal, if any. `bill` has the request's earlier charges. */
  admit(connection: Connection, cost: Cost, bill = new Bill(connection)): ErrorAnswer | null {
    const { gateway, outstandingMax } = this;
    const { refusal } = admitOrder(gateway, connection.session, connection, bill, cost);
    return refusal ?? (connection.outstanding >= outstandingMax ? this.tooMany : null);
  }

  /** Executes an admitted request. Returns the error if the command cannot be submitted. */
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
    const of = { id, isBatch: command.kind === 'batch', receivedMs, appliedMs: done.appliedMs };
    let give = (answered: ExplainedResult) => this.answer(connection, of, answered);
    const options = {
      reader: historyReaderOf(gateway, connection),
      read: () => command,
      receipt: batchReceipt,
      onWait: () => {
        const take = this.answerLater(connection);
        give = (answered) => take(() => this.send(connection, of, answered));
      },
    };
    finalizeResult(result, options, ({ result: found, explained, isReplayed }) =>
      give(
        explained === null
          ? orderAnswer(engine, found, { id, command, isReplayed })
          : writtenAnswer(explained, id, isReplayed),
      ),
    );
    return null;
  }

  countsOf(isBatch: boolean): AnswerCounts {
    return isBatch ? this.counts.batch : this.counts.order;
  }

  private answer(connection: Connection, of: Executed, answered: ExplainedResult): void {
    const release = () => connection.inTurn(() => this.send(connection, of, answered));
    this.whenDurable(connection, release);
  }

  /**
   * Once the request is durable, holds back later answers until the history has been read. Pass the
   * returned function what sends the answer and calls {@link Connection.requestAnswered}.
   */
  answerLater(connection: Connection): (send: () => void) => void {
    let answered: (() => void) | null = null;
    let take: ((send: () => void) => void) | null = null;
    this.whenDurable(connection, () => {
      take = connection.keepTurn();
      if (answered !== null) take(answered);
    });
    return (send) => {
      answered = send;
      take?.(send);
    };
  }

  private whenDurable(connection: Connection, release: () => void): void {
    const { sequencer } = this.gateway;
    connection.outstanding++;
    sequencer.releaseAt(sequencer.engine.sequence, { release });
  }

  private send(connection: Connection, of: Executed, { text, status }: ExplainedResult): void {
    const { metrics } = this.gateway;
    connection.answerRequest(text);
    // The connection has copied the text.
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

function historyReaderOf(gateway: Gateway, connection: Connection): HistoryReader {
  const { session, address } = connection;
  return {
    ...{ gateway, session, address, minSequence: 0, onLeft: null },
    get isOver() {
      return !connection.isOpen;
    },
  };
}
