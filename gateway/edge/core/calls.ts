/**
 * On the core: what an edge asks for its clients. It passes the same limits and checks as a request
 * on a connection of the core's own; only its address comes from the edge, and its answer goes
 * there.
 */
import type { RecordBuffer } from '../../../engine/interface/records.js';
import { type AddressKey, addressKey } from '../../access/fair-use/addresses.js';
import { numbersOf, StoredCommand } from '../../commands/execution.js';
import { Call } from '../../http/call.js';
import { refusalAnswer } from '../../http/errors.js';
import type { Gateway } from '../../http/gateway.js';
import type { Request } from '../../http/request.js';
import { textBuffers } from '../../json/text-buffers.js';
import { type FrameSink, FrameWriter, ResultFlag, ToEdge } from '../link/frames.js';
import type { SessionNumbers } from '../link/session-numbers.js';
import type { ServedRoute, ServedRoutes } from './served-routes.js';

/** What calls need of the edge that they come from. */
export interface EdgeOfCalls {
  readonly gateway: Gateway;
  readonly served: ServedRoutes;
  readonly sessions: SessionNumbers;
  readonly sink: FrameSink;
  /** Whether more waits for the edge than may: answers are then dropped, with their connections. */
  isCongested(): boolean;
  onEnd(): void;
}

const writer = new FrameWriter();
const NONE: Uint8Array = new Uint8Array(0);

/** A request as its client sent it. */
export class RequestCall extends Call {
  private sequence = 0;

  constructor(
    protected readonly edge: EdgeOfCalls,
    served: ServedRoute | null,
    request: Request,
    /** As the edge counts its requests. */
    readonly number: number,
    /** The address in the frame that is read: not to be used once the call waits. */
    private readonly sentFrom: Uint8Array,
  ) {
    const counts = served?.counts ?? edge.served.unknown;
    super(edge.gateway, served?.route ?? null, counts, request, null, edge.onEnd);
  }

  override get address(): AddressKey {
    return addressKey(this.sentFrom.slice().buffer as ArrayBuffer);
  }

  override get addressBytes(): Uint8Array {
    return this.sentFrom;
  }

  override answerWhenDurable(
    status: number,
    text: string | Uint8Array,
    sequence = this.engine.sequence,
  ): void {
    this.sequence = sequence;
    super.answerWhenDurable(status, text, sequence);
  }

  protected override send(): void {
    const { edge, number, session, sequence, userId } = this;
    if (edge.isCongested()) {
      edge.sink.send(writer.begin(ToEdge.dropped, number));
      return;
    }
    const { status, contentType, headers, body } = this.answerToRelay;
    const { userToken } = this.request;
    const named =
      session === null || userToken === '' ? 0 : edge.sessions.numberOf(session, userToken);
    writer.begin(ToEdge.answer, number, { own: status });
    writer
      .number(sequence)
      .integer(userId)
      .integer(named)
      .number(session?.tokenId ?? 0);
    writer.text(contentType).texts(headers);
    edge.sink.send(writer, typeof body === 'string' ? Buffer.from(body) : body);
    // The frame has a copy.
    if (typeof body !== 'string') textBuffers.give(body);
  }
}

/** A command that the edge has read: its result goes to the edge in numbers. */
export class CommandCall extends RequestCall {
  /** null: the command did not reach the engine. */
  private result: readonly number[] | null = null;
  private isReplayed = false;

  executeRecord(records: RecordBuffer): void {
    const { result, refusal, appliedMs } = this.run(new StoredCommand(records));
    this.appliedMs = appliedMs;
    if (result !== null) {
      this.result = numbersOf(result);
      this.isReplayed = this.engine.replayed;
    }
    const error = refusal === null ? null : refusalAnswer(refusal).error;
    if (error === null) this.answerWhenDurable(200, NONE);
    else if (refusal!.code === 'unavailable') this.refuseNow(error);
    else this.refuseWhenDurable(error);
  }

  protected override send(): void {
    const { result, rateLimit } = this;
    if (result === null) {
      super.send();
      return;
    }
    const flags =
      (this.isReplayed ? ResultFlag.replayed : 0) | (rateLimit === null ? 0 : ResultFlag.limited);
    writer.begin(ToEdge.result, this.number, { flags });
    if (rateLimit !== null) {
      const { limit, remaining, resetSeconds } = rateLimit;
      writer.integer(limit).integer(remaining).integer(resetSeconds);
    }
    this.edge.sink.send(writer.numbers(result));
  }
}
