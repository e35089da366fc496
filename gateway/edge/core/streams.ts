/**
 * Core side: the streams of one edge's clients. Each is an ordinary connection whose socket is at
 * the edge. A message for many clients is sent to the edge once.
 *
 * A replica has its own streams. Those that send orders are also here, without channels, so that
 * their orders pass the same checks and limits, in the same order, as all others.
 */
import { readCommand } from '../../../engine/interface/command-record.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { addressKey } from '../../access/fair-use/addresses.js';
import { Bill } from '../../access/fair-use/fair-use.js';
import { Tally } from '../../access/fair-use/tally.js';
import type { Session } from '../../access/sessions.js';
import type { RecordSummary } from '../../commands/cancels.js';
import { UNAVAILABLE } from '../../commands/errors.js';
import { finalizeResult } from '../../commands/final-result.js';
import type { ExplainedResult } from '../../commands/past-market-errors.js';
import { bytesOf } from '../../json/text-buffers.js';
import { batchReceipt } from '../../resources/batch/receipts.js';
import { Connection, type Socket } from '../../stream/connection.js';
import type { StreamRequest } from '../../stream/handshake.js';
import { CLOSE, type CloseReason } from '../../stream/limits.js';
import type { StreamServer } from '../../stream/stream.js';
import {
  type BlockSink,
  FrameBlock,
  type FrameReader,
  type FrameSink,
  FrameWriter,
  ResultFlag,
  StreamFlag,
  ToCore,
  ToEdge,
} from '../link/frames.js';
import type { EdgeCommands } from './commands.js';
import { loadRecord, numberBy } from './received-record.js';

interface CoreStreamsOptions {
  stream: StreamServer;
  sink: BlockSink;
  commands: EdgeCommands;
  isStopping: () => boolean;
  isBehind: () => boolean;
}

interface Stream {
  connection: Connection;
  socket: EdgeSocket;
  isOfReplica: boolean;
}

const writer = new FrameWriter();

export class CoreStreams {
  private readonly streams = new Map<number, Stream>();
  private readonly topics = new Tally<string>();
  private readonly records = new RecordBuffer();
  private readonly stopPublishing: () => void;

  constructor(private readonly options: CoreStreamsOptions) {
    const { stream, sink } = options;
    this.stopPublishing = stream.publishTo((topic, text) => {
      if (this.topics.of(topic) === 0 || !this.requireRoom()) return;
      sink.send(writer.begin(ToEdge.published, 0).text(topic), bytesOf(text));
    });
  }

  /** Returns false if the frame is not about a stream. @throws FrameError */
  receive(frame: FrameReader): boolean {
    const read = this.readers[frame.kind];
    // The stream is missing if it was ended here and the edge does not know yet.
    read?.(frame, this.streams.get(frame.id));
    return read !== undefined;
  }

  private readonly readers: Record<number, (frame: FrameReader, found?: Stream) => void> = {
    [ToCore.streamAsked]: (frame) => this.asked(frame),
    [ToCore.streamJoined]: (frame) => this.joined(frame),
    [ToCore.streamMessage]: (frame, found) => {
      if (found === undefined) return;
      const bytes = frame.rest().slice().buffer as ArrayBuffer;
      const isBinary = (frame.flags & StreamFlag.binary) !== 0;
      this.options.stream.receive(found.connection, bytes, isBinary);
    },
    [ToCore.streamCommand]: (frame, found) => found && this.command(found, frame),
    [ToCore.streamExceeded]: (_, found) => found && this.options.stream.exceeded(found.connection),
    [ToCore.streamPong]: (_, found) => found && this.options.stream.heardFrom(found.connection),
    [ToCore.streamRead]: (_, found) => found && this.options.stream.drained(found.connection),
    [ToCore.streamClosed]: ({ id, own }) =>
      this.closed(id, own === CLOSE.slowReader.code ? CLOSE.slowReader : null),
  };

  private readonly requireRoom = (): boolean => {
    if (!this.options.isBehind()) return true;
    for (const { connection } of [...this.streams.values()]) this.options.stream.cutOff(connection);
    return false;
  };

  allClosed(): void {
    this.stopPublishing();
    for (const number of [...this.streams.keys()]) this.closed(number);
  }

  private asked(frame: FrameReader): void {
    const { stream, sink } = this.options;
    const { id: number } = frame;
    const isCrossSite = (frame.flags & StreamFlag.crossSite) !== 0;
    const accepted = stream.accept({ ...clientIn(frame), isCrossSite }, false);
    if (accepted instanceof Connection) {
      sink.send(writer.begin(ToEdge.streamAccepted, number));
      this.add(number, accepted, false);
      return;
    }
    const { error, header } = accepted;
    stream.whenDurable(() => {
      writer.begin(ToEdge.streamRefused, number, { own: error.status }).texts(header ?? []);
      sink.send(writer, bytesOf(error.text));
    });
  }

  private joined(frame: FrameReader): void {
    const { stream, sink } = this.options;
    const { id: number, flags } = frame;
    const known = this.streams.get(number);
    const cancelOnDisconnect = (flags & StreamFlag.cancelOnDisconnect) !== 0;
    const joined = stream.join(known?.connection ?? null, clientIn(frame), cancelOnDisconnect);
    if (joined instanceof Connection) {
      if (known === undefined) this.add(number, joined, true);
    } else if (known === undefined) {
      sink.send(writer.begin(ToEdge.streamEnd, number, { own: joined.code }).text(joined.reason));
    } else known.connection.endWhenAnswered(joined);
  }

  private add(number: number, connection: Connection, isOfReplica: boolean): void {
    const { sink, stream } = this.options;
    const { topics, requireRoom } = this;
    const onEnd = () => this.closed(number);
    const socket = new EdgeSocket({ number, sink, topics, requireRoom, onEnd });
    this.streams.set(number, { connection, socket, isOfReplica });
    if (isOfReplica) connection.open(socket);
    else stream.opened(connection, socket);
  }

  private command({ connection, isOfReplica }: Stream, frame: FrameReader): void {
    const { stream, sink, commands, isStopping } = this.options;
    const { id: number } = frame;
    const request = frame.integer();
    if (isOfReplica && isStopping()) {
      sink.send(writer.begin(ToEdge.streamNotServed, number).integer(request));
      return;
    }
    const { records } = this;
    const summary = loadRecord(records, frame.rest(), connection.userId, frame.own);
    connection.unansweredPings = 0;
    if (connection.isEnding) return;
    if (connection.session !== null) numberBy(records, connection.session.tokenId);
    const { orders } = stream;
    const bill = new Bill(connection);
    const refusal = orders.admit(connection, summary, bill);
    const result = refusal === null ? commands.execute(records, connection.userId, bill) : null;
    if (result !== null) {
      this.finalize(number, request, connection, summary, result);
      return;
    }
    commands.flush();
    const error = refusal ?? UNAVAILABLE;
    stream.whenAfforded(connection, error, summary.units, () => {
      connection.inTurn(() => this.say(number, request, error, 0));
    });
  }

  private finalize(
    number: number,
    request: number,
    connection: Connection,
    summary: RecordSummary,
    result: NumberBuffer,
  ): void {
    const { records } = this;
    const { commands, stream } = this.options;
    const { gateway } = commands;
    const { sequence } = gateway.sequencer.engine;
    const { session, address } = connection;
    const counts = stream.orders.countsOf(summary.isBatch);
    // This reader is never over: the command is in flight until it is answered.
    const reader = { gateway, session, address, minSequence: 0, onLeft: null, isOver: false };
    const read = () => readCommand(records, 0);
    let giveLater: ((send: () => void) => void) | null = null;
    const onWait = () => {
      const answered = commands.answersLater();
      const take = stream.orders.answerLater(connection);
      giveLater = (send) => take(() => answered(send));
    };
    const options = { reader, read, receipt: batchReceipt, onWait };
    finalizeResult(result, options, ({ result, explained, isReplayed }) => {
      if (giveLater === null) {
        commands.begin(ToEdge.streamResult, number, 0, isReplayed).integer(request);
        commands.end(result, summary, counts, connection);
        return;
      }
      giveLater(() => {
        if (explained === null) {
          const block = new FrameBlock();
          const flags = isReplayed ? ResultFlag.replayed : 0;
          block.begin(ToEdge.streamResult, number, flags).integer(request).end(result);
          this.options.sink.sendBlock(block);
          commands.count(result, summary, counts);
        } else {
          this.say(number, request, explained, sequence, isReplayed);
          counts.add(explained.status);
        }
        connection.requestAnswered();
      });
    });
  }

  /** Answers a command with a text. `sequence` is 0 if the command was not executed. */
  private say(
    number: number,
    request: number,
    { status: own, text }: ExplainedResult,
    sequence: number,
    isReplayed = false,
  ): void {
    const flags = ResultFlag.written | (isReplayed ? ResultFlag.replayed : 0);
    writer.begin(ToEdge.streamResult, number, { flags, own }).integer(request).number(sequence);
    this.options.sink.send(writer, bytesOf(text));
  }

  private closed(number: number, by: CloseReason | null = null): void {
    const found = this.streams.get(number);
    if (found === undefined) return;
    const { connection, socket, isOfReplica } = found;
    this.streams.delete(number);
    socket.closed();
    if (isOfReplica) this.options.stream.parted(connection);
    else this.options.stream.left(connection, by);
  }
}

function clientIn(frame: FrameReader): Omit<StreamRequest, 'isCrossSite'> {
  const token = frame.text();
  const addressBytes = frame.content().slice();
  return { token, addressBytes, address: addressKey(addressBytes.buffer as ArrayBuffer) };
}

interface EdgeSocketOptions {
  number: number;
  sink: FrameSink;
  topics: Tally<string>;
  requireRoom: () => boolean;
  /** Called when the exchange closes the stream, as uWebSockets.js calls its close handler. */
  onEnd: () => void;
}

/** The socket of a stream at an edge, which limits unsent data. */
class EdgeSocket implements Socket {
  private readonly joined = new Set<string>();

  constructor(private readonly options: EdgeSocketOptions) {}

  send(text: string | Uint8Array): void {
    const { number, sink, requireRoom } = this.options;
    if (requireRoom()) sink.send(writer.begin(ToEdge.streamText, number), bytesOf(text));
  }

  subscribe(topic: string): boolean {
    this.joined.add(topic);
    this.options.topics.add(topic);
    this.say(ToEdge.streamSubscribe, topic);
    return true;
  }

  unsubscribe(topic: string): boolean {
    if (!this.joined.delete(topic)) return false;
    this.options.topics.remove(topic);
    this.say(ToEdge.streamUnsubscribe, topic);
    return true;
  }

  /** One turn's messages travel together without corking. */
  cork(send: () => void): void {
    send();
  }

  ping(): void {
    const { number, sink } = this.options;
    sink.send(writer.begin(ToEdge.streamPing, number));
  }

  getBufferedAmount(): number {
    return 0;
  }

  askRead(): void {
    const { number, sink } = this.options;
    sink.send(writer.begin(ToEdge.streamAskRead, number));
  }

  end(code: number, reason: string): void {
    this.say(ToEdge.streamEnd, reason, code);
    this.options.onEnd();
  }

  close(): void {
    const { number, sink, onEnd } = this.options;
    sink.send(writer.begin(ToEdge.streamCut, number));
    onEnd();
  }

  signedIn({ userId, tokenId }: Session): void {
    const { number, sink } = this.options;
    sink.send(writer.begin(ToEdge.streamSession, number).integer(userId).number(tokenId));
  }

  closed(): void {
    for (const topic of this.joined) this.options.topics.remove(topic);
    this.joined.clear();
  }

  private say(kind: number, text: string, own = 0): void {
    const { number, sink } = this.options;
    sink.send(writer.begin(kind, number, { own }).text(text));
  }
}
