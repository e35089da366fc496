/**
 * Core side: a request that an edge passes on as its client sent it. It passes the same limits and
 * checks as a request on the core's own connections. Only its address comes from the edge, and its
 * answer goes to the edge.
 */
import { type AddressKey, addressKey } from '../../access/fair-use/addresses.js';
import type { Answer } from '../../http/answers/answer.js';
import { Call } from '../../http/call.js';
import type { Gateway } from '../../http/gateway.js';
import type { InFlight } from '../../http/in-flight.js';
import type { Request } from '../../http/request.js';
import { bytesOf, textBuffers } from '../../json/text-buffers.js';
import { type FrameSink, FrameWriter, ToEdge } from '../link/frames.js';
import type { SessionNumbers } from '../link/session-numbers.js';
import type { ServedRoute, ServedRoutes } from './served-routes.js';

export interface EdgeOfCalls {
  readonly gateway: Gateway;
  readonly served: ServedRoutes;
  readonly sessions: SessionNumbers;
  readonly sink: FrameSink;
  /** If the edge's queue is too long, answers are dropped, with their connections. */
  isCongested(): boolean;
  readonly inFlight: InFlight<Answer>;
}

const writer = new FrameWriter();

export class RequestCall extends Call {
  private sequence = 0;

  constructor(
    private readonly edge: EdgeOfCalls,
    served: ServedRoute | null,
    request: Request,
    readonly number: number,
    /** The address in the current frame. Must not be read once the call is waiting. */
    private readonly sentFrom: Uint8Array,
  ) {
    const counts = served?.counts ?? edge.served.unknown;
    super(edge.gateway, served?.route ?? null, counts, request, null, edge.inFlight);
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
    const named = session === null || userToken === '' ? 0 : edge.sessions.numberOf(session);
    writer.begin(ToEdge.answer, number, { own: status });
    writer
      .number(sequence)
      .integer(userId)
      .integer(named)
      .number(session?.tokenId ?? 0);
    writer.text(contentType).texts(headers);
    edge.sink.send(writer, bytesOf(body));
    // The frame has copied the body.
    if (typeof body !== 'string') textBuffers.give(body);
  }
}
