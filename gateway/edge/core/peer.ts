/**
 * The core's side of one edge, whatever carries its frames.
 *
 * Always holds:
 * - a request is admitted by the code that admits those of the core's own connections: its limits,
 *   token, scope, addresses and revocation are checked here, whatever the edge has checked;
 * - a record is checked to the bit, and all of it is of the user of its session;
 * - each request gets one answer, unless its client has left: the exchange's, or that it was not
 *   executed because this process stops. If the connection is lost first, the edge does not know
 *   what became of it.
 */
import { kindAt } from '../../../engine/interface/command-record.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { admitCommand } from '../../http/admission.js';
import { ReceivedBody } from '../../http/body.js';
import { errorAnswer, invalidRequest } from '../../http/errors.js';
import type { Gateway } from '../../http/gateway.js';
import { type RawRequest, Request } from '../../http/request.js';
import { serve } from '../../http/way.js';
import {
  FrameError,
  type FrameReader,
  type FrameSink,
  FrameWriter,
  RequestFlag,
  ToCore,
  ToEdge,
} from '../link/frames.js';
import { SessionNumbers } from '../link/session-numbers.js';
import { CommandCall, type EdgeOfCalls, RequestCall } from './calls.js';
import { loadRecord } from './received-record.js';
import type { ServedRoutes } from './served-routes.js';
import type { CoreStreams } from './streams.js';

export interface PeerOptions {
  gateway: Gateway;
  served: ServedRoutes;
  sink: FrameSink;
  streams: CoreStreams;
  isCongested: () => boolean;
  /** Called when a request is over, or the edge sends nothing more. */
  onChange: () => void;
}

const writer = new FrameWriter();

export class EdgePeer implements EdgeOfCalls {
  readonly gateway: Gateway;
  readonly served: ServedRoutes;
  readonly sink: FrameSink;
  readonly sessions = new SessionNumbers();
  readonly isCongested: () => boolean;
  private readonly records = new RecordBuffer();
  private inFlight = 0;
  /** Whether the edge sends nothing more. */
  private hasLeft = false;

  constructor(private readonly options: PeerOptions) {
    this.gateway = options.gateway;
    this.served = options.served;
    this.sink = options.sink;
    this.isCongested = options.isCongested;
  }

  /** @throws FrameError if the edge is of another version */
  receive(frame: FrameReader): void {
    const { streams, onChange } = this.options;
    switch (frame.kind) {
      case ToCore.command:
        this.command(frame);
        return;
      case ToCore.request:
        this.request(frame);
        return;
      case ToCore.left:
        this.hasLeft = true;
        onChange();
        return;
      default:
        if (!streams.receive(frame))
          throw new FrameError(`an edge has sent a frame of kind ${frame.kind}`);
    }
  }

  /** The connection is lost. */
  closed(): void {
    this.options.streams.allClosed();
  }

  readonly onEnd = (): void => {
    this.inFlight--;
    this.options.onChange();
  };

  /** Whether every request is answered, and no other will come. */
  get isIdle(): boolean {
    return this.inFlight === 0 && this.hasLeft;
  }

  private command(frame: FrameReader): void {
    const { id: number } = frame;
    const numbered = this.sessions.of(frame.integer());
    const address = addressIn(frame);
    if (this.gateway.isStopping()) this.sink.send(writer.begin(ToEdge.notServed, number));
    else if (numbered === null) this.sink.send(writer.begin(ToEdge.unknownSession, number));
    else {
      const { records } = this;
      const { session, request } = numbered;
      const summary = loadRecord(records, frame.rest(), session.userId);
      const served = this.served.ofKind(kindAt(records, 0))!;
      const call = new CommandCall(this, served, request, number, address);
      this.inFlight++;
      if (admitCommand(call, served.route, session, summary)) call.executeRecord(records);
    }
  }

  private request(frame: FrameReader): void {
    const { id: number, flags } = frame;
    if (this.gateway.isStopping()) {
      this.sink.send(writer.begin(ToEdge.notServed, number));
      return;
    }
    const address = addressIn(frame);
    const [name, method, query] = [frame.text(), frame.text(), frame.text()];
    const parameters = frame.texts();
    const raw = rawRequest(query, parameters, frame.texts());
    // The edge sets X-Forwarded-Proto, and sends no other of these headers.
    const request = new Request(raw, method, true);
    const served = this.served.named(name);
    if (served !== null) request.readParameters(raw, served.names);
    const call = new RequestCall(this, served, request, number, address.slice());
    this.inFlight++;
    if (served === null) call.refuseNow(errorAnswer('route_not_found'));
    else if (request.problems !== null) call.refuseNow(invalidRequest(request.problems));
    else {
      const isTooLarge = (flags & RequestFlag.tooLarge) !== 0;
      serve(call, served.route, new ReceivedBody(frame.rest(), isTooLarge));
    }
  }
}

/** 16 bytes; none: it is unknown. */
function addressIn(frame: FrameReader): Uint8Array {
  const address = frame.content();
  if (address.length === 16 || address.length === 0) return address;
  throw new FrameError('an address does not have 16 bytes');
}

function rawRequest(query: string, parameters: string[], headers: string[]): RawRequest {
  if (headers.length % 2 !== 0) throw new FrameError('a header has no value');
  return {
    getQuery: () => query,
    getParameter: (index) => parameters[index],
    forEach(read) {
      for (let i = 0; i < headers.length; i += 2) read(headers[i]!, headers[i + 1]!);
    },
  };
}
