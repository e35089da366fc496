/** Core side: the edge as the place where a request comes from and its answer goes. */
import { type AddressKey, addressKey } from '../../access/fair-use/addresses.js';
import { type Answer, limitHeaders } from '../../http/answers/answer.js';
import type { Outlet } from '../../http/answers/reply.js';
import type { Call } from '../../http/call.js';
import { bytesOf, textBuffers } from '../../json/text-buffers.js';
import { type FrameSink, FrameWriter, ToEdge } from '../link/frames.js';
import type { SessionNumbers } from '../link/session-numbers.js';

interface EdgeOfCalls {
  readonly sessions: SessionNumbers;
  readonly sink: FrameSink;
  /** If the edge's queue is too long, answers are dropped, with their connections. */
  isCongested(): boolean;
}

const writer = new FrameWriter();

export class EdgeOutlet implements Outlet {
  constructor(
    private readonly edge: EdgeOfCalls,
    private readonly number: number,
    readonly addressBytes: Uint8Array,
  ) {}

  get address(): AddressKey {
    return addressKey(this.addressBytes.slice().buffer as ArrayBuffer);
  }

  write({ session, userId, request }: Call, answer: Answer): void {
    const { edge, number } = this;
    if (edge.isCongested()) {
      this.drop();
      return;
    }
    const { status, contentType, headers, rateLimit, body, sequence } = answer;
    const isNamed = session !== null && request.userToken !== '';
    writer.begin(ToEdge.answer, number, { own: status });
    writer.number(sequence).integer(userId);
    writer.integer(isNamed ? edge.sessions.numberOf(session) : 0).number(session?.tokenId ?? 0);
    writer.text(contentType).texts([...limitHeaders(rateLimit), ...headers]);
    edge.sink.send(writer, bytesOf(body));
    // The frame has copied the body.
    if (typeof body !== 'string') textBuffers.give(body);
  }

  drop(): void {
    this.edge.sink.send(writer.begin(ToEdge.dropped, this.number));
  }
}
