/**
 * The core's side of one edge, for any transport of its frames.
 *
 * Invariants:
 * - A request passes the same admission as on the core's own connections (limits, token, scope,
 *   addresses, revocation), whatever the edge has checked.
 * - A record is checked bit by bit, and all of it belongs to its session's user.
 * - Each request whose client stays gets one answer: the exchange's, or that the request was not
 *   executed because this process is stopping. If the connection is lost first, the edge does not
 *   know the outcome.
 */
import { kindAt, readCommand } from '../../../engine/interface/command-record.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { type AddressKey, addressKey } from '../../access/fair-use/addresses.js';
import { Bill } from '../../access/fair-use/fair-use.js';
import type { Session } from '../../access/sessions.js';
import type { RecordSummary } from '../../commands/cancels.js';
import { errorAnswer, invalidRequest, UNAVAILABLE } from '../../commands/errors.js';
import { type FinalResult, finalizeResult } from '../../commands/final-result.js';
import { type Admission, admitOrder, type Sender } from '../../commands/intake.js';
import type { ExplainedResult } from '../../commands/past-market-errors.js';
import { limitHeaders } from '../../http/answers/answer.js';
import type { Reply } from '../../http/answers/reply.js';
import { JSON_TYPE } from '../../http/answers/response-head.js';
import { LargeBodyQueue, ReceivedBody } from '../../http/body.js';
import { Call } from '../../http/call.js';
import type { Gateway } from '../../http/gateway.js';
import { InFlight } from '../../http/in-flight.js';
import { type RawRequest, Request } from '../../http/request.js';
import { serve } from '../../http/request-pipeline.js';
import type { Route } from '../../http/route.js';
import { bytesOf } from '../../json/text-buffers.js';
import {
  type BlockSink,
  FrameError,
  type FrameReader,
  FrameWriter,
  RequestFlag,
  ResultFlag,
  ToCore,
  ToEdge,
} from '../link/frames.js';
import { SessionNumbers } from '../link/session-numbers.js';
import { EdgeCommands, type EdgeCommandsOptions } from './commands.js';
import { EdgeOutlet } from './edge-outlet.js';
import { loadRecord } from './received-record.js';
import type { ServedRoute, ServedRoutes } from './served-routes.js';
import type { CoreStreams } from './streams.js';

export interface PeerOptions extends EdgeCommandsOptions {
  served: ServedRoutes;
  streamsOf: (
    sink: BlockSink,
    commands: EdgeCommands,
    isBehind: PeerOptions['isBehind'],
  ) => CoreStreams;
  /** Whether the edge's queue is so long that its streams are cut off. */
  isBehind: () => boolean;
}

const writer = new FrameWriter();

export class EdgePeer implements Sender {
  readonly gateway: Gateway;
  readonly served: ServedRoutes;
  readonly sink: BlockSink;
  readonly sessions = new SessionNumbers();
  readonly isCongested: () => boolean;
  private readonly records = new RecordBuffer();
  private readonly largeBodies = new LargeBodyQueue();
  private readonly commands: EdgeCommands;
  private readonly streams: CoreStreams;
  private readonly stopTelling: () => void;
  /** The client's address in the current frame. */
  addressBytes: Uint8Array = new Uint8Array(0);
  readonly inFlight: InFlight<Reply>;
  /** Whether the edge has announced that it sends nothing more. */
  private hasLeft = false;

  constructor(private readonly options: PeerOptions) {
    this.gateway = options.gateway;
    this.served = options.served;
    this.sink = options.sink;
    this.isCongested = options.isCongested;
    this.inFlight = new InFlight(options.onChange);
    this.commands = new EdgeCommands(options);
    this.streams = options.streamsOf(options.sink, this.commands, options.isBehind);
    this.stopTelling = this.gateway.passwords.queue.known.tell((address) =>
      this.sink.send(writer.begin(ToEdge.known, 0).text(`${address}`)),
    );
  }

  get address(): AddressKey {
    return addressKey(this.addressBytes.slice().buffer as ArrayBuffer);
  }

  /** @throws FrameError if the edge has another version */
  receive(frame: FrameReader): void {
    const { streams } = this;
    if (frame.kind === ToCore.command) {
      this.command(frame);
      return;
    }
    if (frame.kind !== ToCore.streamCommand) this.commands.flush();
    switch (frame.kind) {
      case ToCore.request:
        this.request(frame);
        return;
      case ToCore.left:
        this.hasLeft = true;
        this.options.onChange();
        return;
      default:
        if (!streams.receive(frame))
          throw new FrameError(`an edge has sent a frame of kind ${frame.kind}`);
    }
  }

  turnEnded(): void {
    this.commands.flush();
  }

  closed(): void {
    this.streams.allClosed();
    this.stopTelling();
  }

  get isIdle(): boolean {
    return this.inFlight.count === 0 && this.commands.inFlight === 0 && this.hasLeft;
  }

  private command(frame: FrameReader): void {
    const { gateway, records, commands } = this;
    const { id: number } = frame;
    const session = this.sessions.of(frame.integer());
    this.addressBytes = addressIn(frame);
    if (gateway.isStopping()) this.sink.send(writer.begin(ToEdge.notServed, number));
    else if (session === null) this.sink.send(writer.begin(ToEdge.unknownSession, number));
    else {
      const summary = loadRecord(records, frame.rest(), session.userId, frame.own);
      const served = this.served.ofKind(kindAt(records, 0));
      if (served === null)
        throw new FrameError('a record contains a command that no route accepts');
      const bill = new Bill(this);
      const admission = admitOrder(gateway, session, this, bill, summary);
      const { refusal } = admission;
      const result = refusal === null ? commands.execute(records, session.userId, bill) : null;
      if (result === null) {
        this.refuse(number, session, served, { ...admission, refusal: refusal ?? UNAVAILABLE });
        return;
      }
      // This reader is never over: if the client leaves, the edge drops the answer.
      const address = 0 as AddressKey;
      const reader = { gateway, session, address, minSequence: 0, onLeft: null, isOver: false };
      // The address in the current frame, which few commands need.
      const read = () => {
        reader.address = this.address;
        return readCommand(records, 0);
      };
      const { receipt } = served.route!.command!;
      let give = (answer: () => void) => answer();
      const onWait = () => {
        give = commands.answersLater();
      };
      finalizeResult(result, { reader, read, receipt, onWait }, (finalResult) =>
        give(() => {
          const { explained } = finalResult;
          if (explained === null) this.answer(number, served, summary, admission, finalResult);
          else
            this.refuse(number, session, served, {
              ...admission,
              ...finalResult,
              refusal: explained,
              isOfState: true,
            });
        }),
      );
    }
  }

  private answer(
    number: number,
    { counts }: ServedRoute,
    summary: RecordSummary,
    { rateLimit }: Admission,
    { result, isReplayed }: FinalResult,
  ): void {
    const { commands } = this;
    const flags = rateLimit === null ? 0 : ResultFlag.limited;
    const block = commands.begin(ToEdge.result, number, flags, isReplayed);
    if (rateLimit !== null) {
      const { limit, remaining, resetSeconds } = rateLimit;
      block.integer(limit).integer(remaining).integer(resetSeconds);
    }
    commands.end(result, summary, counts, null);
  }

  /** Answers a command that the engine did not see, or whose refusal was explained. */
  private refuse(
    number: number,
    { userId }: Session,
    { counts }: ServedRoute,
    {
      refusal,
      rateLimit,
      retryAfter,
      isOfState,
      isReplayed = false,
    }: Omit<Admission, 'refusal'> & { refusal: ExplainedResult; isReplayed?: boolean },
  ): void {
    const { sequencer } = this.gateway;
    const sequence = isOfState ? sequencer.engine.sequence : 0;
    const retry = retryAfter === null ? [] : ['Retry-After', retryAfter];
    if (isReplayed) retry.push('Idempotency-Replayed', 'true');
    const { status: own, text } = refusal;
    const release = () => {
      writer.begin(ToEdge.answer, number, { own }).number(sequence).integer(userId);
      writer.integer(0).number(0).text(JSON_TYPE);
      writer.texts([...limitHeaders(rateLimit), ...retry]);
      this.sink.send(writer, bytesOf(text));
      counts.add(own);
      this.inFlight.ended(null);
    };
    this.inFlight.began();
    if (isOfState) sequencer.releaseAt(sequence, { release });
    else release();
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
    // The edge sets X-Forwarded-Proto, and drops the client's forwarding headers.
    const request = new Request(raw, method, true);
    const served = this.served.named(name);
    if (served !== null) request.readParameters(raw, served.names);
    const outlet = new EdgeOutlet(this, number, address.slice());
    const counts = served?.counts ?? this.served.unknown;
    const route = served?.route ?? null;
    const call = new Call(this.gateway, route, counts, request, outlet, this.inFlight);
    this.inFlight.began();
    if (served === null) call.refuseNow(errorAnswer('route_not_found'));
    else if (request.problems !== null) call.refuseNow(invalidRequest(request.problems));
    else {
      const isTooLarge = (flags & RequestFlag.tooLarge) !== 0;
      this.serve(call, served.route, new ReceivedBody(frame.rest(), isTooLarge));
    }
  }

  private serve(call: Call, route: Route, body: ReceivedBody): void {
    if (!LargeBodyQueue.mustWait(body.units)) {
      serve(call, route, body);
      return;
    }
    const kept = body.kept();
    this.largeBodies.add(() => {
      try {
        if (!call.isOver) serve(call, route, kept);
      } catch (error) {
        this.gateway.fail(error);
      }
    });
  }
}

/** 16 bytes; empty if unknown. */
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
