/**
 * A socket thread: has connections, reads requests from them, hands these to the trading thread,
 * and writes the answers. It decides nothing: what is refused is refused by the trading thread, but
 * for connections above their limits, and requests that the trading thread is too busy to take.
 *
 * Always holds:
 * - a request is handed over once, when its body is complete, does not arrive in time, or need not
 *   be read; and its client gets what the trading thread writes for it, or nothing;
 * - what waits for the trading thread is within {@link WAITING_BYTES_MAX}, and cancels within a
 *   reserve above it. Beyond, a request is refused here; it was not executed, because nobody else
 *   has seen it.
 */
import type * as uWS from 'uWebSockets.js';
import { parentPort, workerData } from 'node:worker_threads';
import { beginsWithCancel, type Cancelling } from '../commands/cancels.js';
import { ConnectionCap } from '../fair-use/connections.js';
import { writeLast } from '../http/answers/last-answer.js';
import { JSON_TYPE, writeHeadWithId, writeStatus } from '../http/answers/response-head.js';
import { SMALL_LENGTH, UnsentAnswers } from '../http/answers/unsent-answers.js';
import { BODY_MS_MAX, ReceivedBody, Receiving, receiveBody } from '../http/body.js';
import { UNAVAILABLE } from '../http/errors.js';
import type { Request } from '../http/request.js';
import { Router } from '../http/router.js';
import { elapsedMs } from '../time/clock.js';
import { SocketCounts } from './counts.js';
import { writeFramedHead } from './framed-answer.js';
import { encodeRequest, REFUSED } from './framed-request.js';
import { type OpenRequest, OpenRequests } from './open-requests.js';
import { RingReader, RingWriter } from './ring.js';
import {
  AnswerFlag,
  FRAME_HEAD_BYTES,
  FrameBuilder,
  FromSockets,
  integerAt,
  RequestFlag,
  ToSockets,
} from './ring-frames.js';
import type { FromSocketThread, SocketThreadTask, ToSocketThread } from './thread-messages.js';

/** What waits for the trading thread besides a full ring: half a second of its work at most. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024;
/** The reserve of cancels, as of what waits for the disk (fair-use/overload.ts): a tenth. */
const CANCELS_BYTES_MAX = WAITING_BYTES_MAX / 10;
const SWEEP_MS = 500;
/** Upgraded connections: none, because the stream is not served here. */
const NO_STREAMS = { upgradedCount: 0, connectionCount: 0 };
const NO_BODY = new ReceivedBody(new Uint8Array(0));
const UNREAD = new ReceivedBody(new Uint8Array(0), false, true);
const LATE = new ReceivedBody(new Uint8Array(0), false, true, true);

class SocketThread {
  private readonly router: Router;
  /** Accepts connections for all threads; null: another one does. */
  private acceptor: Router | null = null;
  private readonly requests: RingWriter;
  private readonly answers: RingReader;
  private readonly builder = new FrameBuilder();
  private readonly mark = new FrameBuilder();
  /** The request whose frame is in {@link builder}. */
  private building: OpenRequest | null = null;
  private readonly open = new OpenRequests();
  private readonly receiving = new Receiving<OpenRequest>();
  private readonly unsent: UnsentAnswers;
  private readonly cap: ConnectionCap;
  private readonly counts: SocketCounts;
  private readonly sweeper: NodeJS.Timeout;
  private congested = 0;
  private isPlanned = false;
  private isClosed = false;

  constructor(private readonly task: SocketThreadTask) {
    const { trustProxy, index } = task;
    this.requests = new RingWriter(task.requests, () => send('wake'), true);
    this.answers = new RingReader(task.answers, () => send('wake'));
    this.unsent = new UnsentAnswers(task.unsent, elapsedMs);
    this.counts = new SocketCounts(task.counts, task.rows);
    const others = this.counts.besides(index);
    this.cap = new ConnectionCap(task.connections, NO_STREAMS, elapsedMs, others);
    this.router = new Router(trustProxy, (response, request, _problems, raw) => {
      const open = this.begin(response, request, raw, REFUSED);
      this.handOver(open, NO_BODY);
    });
    this.router.capConnections(this.cap);
    this.register();
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
    this.answers.sleep();
    send({ app: this.router.descriptor });
  }

  receive(message: ToSocketThread): void {
    if (typeof message === 'object') void this.listen(message);
    else if (message === 'wake') this.work();
    else if (message === 'drain') this.drain();
    else if (message === 'settle') void this.settle();
    else this.close();
  }

  private register(): void {
    this.task.handlers.forEach((registered, handler) => {
      const { verb, path, parameters, takesBody, cancelling } = registered;
      const kind = { handler, parameters, isAny: verb === 'any' };
      const begin = (response: uWS.HttpResponse, request: Request, raw: uWS.HttpRequest) =>
        this.begin(response, request, raw, kind);
      if (takesBody)
        this.router.onBody(verb, path, (response, request, raw) => {
          this.receiveBody(begin(response, request, raw), cancelling);
        });
      else
        this.router.on(verb, path, (response, request, raw) => {
          this.handOver(begin(response, request, raw), NO_BODY);
        });
    });
  }

  private begin(
    response: uWS.HttpResponse,
    request: Request,
    raw: uWS.HttpRequest,
    kind: { handler: number; parameters: number; isAny: boolean },
  ): OpenRequest {
    const open = this.open.open(request, response, elapsedMs());
    response.onAborted(() => this.leave(open));
    const { building, builder } = this;
    // Its body has not come yet.
    if (building !== null) building.head = builder.copy();
    const { place, number } = open;
    const address = new Uint8Array(response.getRemoteAddress());
    encodeRequest({ builder, place, number, request, raw, address, ...kind });
    this.building = open;
    return open;
  }

  private receiveBody(open: OpenRequest, cancelling: Cancelling): void {
    this.receiving.add(open);
    receiveBody(open.response, (body) => {
      if (this.receiving.delete(open)) this.handOver(open, body, cancelling);
    });
  }

  private handOver(open: OpenRequest, body: ReceivedBody, cancelling: Cancelling = 'none'): void {
    const { builder, building, requests } = this;
    const isBuilt = building === open;
    if (isBuilt) this.building = null;
    if (this.isCongested(body, cancelling)) {
      this.refuse(open);
      return;
    }
    open.isHandedOver = true;
    const head = isBuilt ? builder.bytes : open.head!;
    head[1] =
      (body.tooLarge ? RequestFlag.tooLarge : 0) |
      (body.unread ? RequestFlag.unread : 0) |
      (body.isLate ? RequestFlag.late : 0);
    requests.write(head, isBuilt ? builder.length : head.byteLength, body.bytes);
    this.requests.wakeLater();
  }

  private isCongested({ bytes }: ReceivedBody, cancelling: Cancelling): boolean {
    const above = this.requests.waitingBytes - WAITING_BYTES_MAX;
    if (above <= 0) return false;
    const isCancel = cancelling === 'all' || (cancelling === 'by body' && beginsWithCancel(bytes));
    return !isCancel || above > CANCELS_BYTES_MAX;
  }

  /**
   * The trading thread has not taken what came before. The connection is closed, in a later turn:
   * where its next request begins may be unknown (router.ts).
   */
  private refuse(open: OpenRequest): void {
    this.congested++;
    setImmediate(() => {
      if (!this.open.close(open)) return;
      const { response, request } = open;
      response.cork(() => {
        writeStatus(response, UNAVAILABLE.status);
        writeHeadWithId(response, JSON_TYPE, false, request, false);
        response.writeHeader('Retry-After', '1');
        if (request.method === 'head') writeLast(response, '', UNAVAILABLE.text.length);
        else writeLast(response, UNAVAILABLE.text);
      });
    });
  }

  /** The client has left, or its connection was closed. */
  private leave(open: OpenRequest): void {
    this.receiving.delete(open);
    if (this.building === open) this.building = null;
    if (!this.open.close(open) || !open.isHandedOver) return;
    this.sendMark(FromSockets.gone, open.place, open.number);
  }

  private sendMark(kind: number, place = 0, number = 0): void {
    this.mark.begin(kind, place, number);
    this.requests.write(this.mark.bytes, FRAME_HEAD_BYTES);
    this.requests.wakeLater();
  }

  /** Handles the answers that are there, and looks again a turn later. */
  private work(): void {
    const isBusy = this.answers.read(this.answer);
    this.requests.retry();
    this.requests.wake();
    if (this.isPlanned || (!isBusy && this.answers.sleep())) return;
    this.isPlanned = true;
    setImmediate(this.turn);
  }

  private readonly turn = (): void => {
    this.isPlanned = false;
    this.work();
  };

  private readonly answer = (start: number, end: number): void => {
    const { bytes } = this.answers;
    const open = this.open.at(integerAt(bytes, start + 4), integerAt(bytes, start + 8));
    if (open === null) return;
    const kind = bytes[start];
    if (kind === ToSockets.close) open.response.close();
    else if (kind === ToSockets.part) this.collect(open, bytes, start, end);
    else this.write(open, bytes, start, end);
  };

  private collect(open: OpenRequest, bytes: Buffer, start: number, end: number): void {
    const contentAt = start + FRAME_HEAD_BYTES + 4;
    open.parts ??= Buffer.allocUnsafeSlow(integerAt(bytes, contentAt - 4));
    bytes.copy(open.parts, open.partsLength, contentAt, end);
    open.partsLength += end - contentAt;
    if (open.partsLength === open.parts.length) this.write(open, open.parts, 0, open.partsLength);
  }

  private write(open: OpenRequest, bytes: Buffer, start: number, end: number): void {
    const hasBody = (bytes[start + 1]! & AnswerFlag.hasBody) !== 0;
    if (hasBody) this.open.close(open);
    const { response } = open;
    response.cork(() => {
      const bodyAt = writeFramedHead(response, bytes, start);
      if (!hasBody) return;
      const body = bytes.subarray(bodyAt, end);
      // What is not sent at once waits, and the memory of a frame is used again.
      const isKept = body.length > SMALL_LENGTH && open.parts === null;
      this.unsent.send(response, isKept ? new Uint8Array(body) : body, open);
    });
  }

  /** Once for all threads. */
  private async listen(where: { host: string; port: number; apps: number[] }): Promise<void> {
    const { host, port, apps } = where;
    this.acceptor = new Router(this.task.trustProxy, () => {});
    this.acceptor.handOut(apps);
    const listening = this.acceptor.listen(host, port);
    send({ port: await listening.catch(() => null) });
  }

  private drain(): void {
    this.acceptor?.stopListening();
    const { receiving } = this;
    for (let open = receiving.oldest; open !== null; open = receiving.oldest) {
      receiving.delete(open);
      this.handOver(open, UNREAD);
    }
    this.sendMark(FromSockets.drained);
  }

  private async settle(): Promise<void> {
    this.work();
    await this.unsent.settled();
    this.count();
    send('settled');
  }

  private close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearInterval(this.sweeper);
    // The last answers before this message.
    this.work();
    this.acceptor?.close();
    this.router.close();
    parentPort!.close();
  }

  private sweep(): void {
    const nowMs = elapsedMs();
    const { receiving } = this;
    for (let open = receiving.oldest; open !== null; open = receiving.oldest) {
      if (nowMs - open.receivedMs < BODY_MS_MAX) break;
      receiving.delete(open);
      this.handOver(open, LATE);
    }
    this.unsent.sweep();
    this.count();
  }

  private count(): void {
    const { counts, unsent, cap } = this;
    const { index } = this.task;
    counts.set(index, 'unsentAnswers', unsent.count);
    counts.set(index, 'unsentBytes', unsent.bytes);
    counts.set(index, 'droppedTotal', unsent.dropCounts.total);
    counts.set(index, 'droppedAddress', unsent.dropCounts.address);
    counts.set(index, 'droppedTime', unsent.dropCounts.time);
    counts.set(index, 'refusedTotal', cap.refusedCounts.total);
    counts.set(index, 'refusedAddress', cap.refusedCounts.address);
    counts.set(index, 'refusedCongested', this.congested);
  }
}

function send(message: FromSocketThread): void {
  parentPort!.postMessage(message);
}

// A thread that ended with open sockets would abort the process, without a message.
process.on('uncaughtException', (error) => send({ failure: error.stack ?? String(error) }));

const task = workerData as SocketThreadTask;
process.once('exit', () => {
  const end = new Int32Array(task.end);
  Atomics.store(end, 0, 1);
  Atomics.notify(end, 0);
});
const thread = new SocketThread(task);
parentPort!.on('message', (message: ToSocketThread) => thread.receive(message));
