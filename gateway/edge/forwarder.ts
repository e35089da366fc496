/**
 * Edge side: sends clients' requests to the core and returns the core's answers. A command of a
 * session that the core has numbered travels as a record, every other request as it was sent.
 *
 * Invariant: pending.ts says which requests move to another leader. The next leader's limits do not
 * refuse a change that an earlier leader may have executed.
 */
import type { Command } from '../../engine/interface/commands.js';
import type { Assets } from '../../engine/interface/notation.js';
import { RecordBuffer } from '../../engine/interface/records.js';
import { ResultHead } from '../../engine/interface/results.js';
import type { KnownAddresses } from '../access/fair-use/known-addresses.js';
import type { ElapsedMs } from '../access/fair-use/token-buckets.js';
import { TokenMap } from '../access/token-map.js';
import { onlyCancels } from '../commands/cancels.js';
import { OUTCOME_UNKNOWN } from '../commands/errors.js';
import type { Reply } from '../http/answers/reply.js';
import type { ReceivedBody } from '../http/body.js';
import { readCommand } from '../http/reading.js';
import { IDEMPOTENCY_KEY, type Request } from '../http/request.js';
import type { Route } from '../http/route.js';
import { routeName } from '../observe/metrics.js';
import {
  type FrameReader,
  type FrameSink,
  FrameWriter,
  RequestFlag,
  ToCore,
  ToEdge,
} from './link/frames.js';
import type { KnownSession } from './link/session-numbers.js';
import {
  CHANGE_TIMEOUT_MS,
  Pending,
  type PendingRequest,
  REQUEST_OVERHEAD_BYTES,
} from './pending.js';
import { prepareResult } from './results.js';

/** Time for a read, and for a read that can be answered here from an older state. */
const READ_MS = 2_000;
const OPTIONAL_MS = 500;
/** Cancels may exceed the limit by this factor, as in access/fair-use/overload.ts. */
const CANCELS_PART = 1.1;
/** Statuses of refusals made before the engine and its remembered answers are consulted. */
const BEFORE_THE_ENGINE: ReadonlySet<number> = new Set([401, 403, 429, 503]);
/** An IPv4 address, whose key is a number. */
const IPV4 = /^\d+$/;

export interface CoreLink extends FrameSink {
  readonly isOpen: boolean;
  /** Call when the core is stopping. Sends it nothing more. */
  leave(): void;
}

export interface ForwarderOptions {
  link: CoreLink;
  assets: Assets;
  elapsedMs: ElapsedMs;
  /** Whether another core may replace a lost one, so that requests may be sent again. */
  mayMove: boolean;
  known: KnownAddresses;
  /** Called with an answer's sequence beforehand; `go` sends the answer. */
  onAnswer?: (of: { userId: number; route: Route; sequence: number }, go: () => void) => void;
  /** Called when a read is answered here because the core took too long. */
  onSilent?: () => void;
}

interface Waiting extends PendingRequest {
  reply: Reply;
  route: Route;
  /** Kept only if the request may be sent again. */
  body: ReceivedBody | null;
  /** The record to send; `null` if the request is sent as it is. */
  command: Command | null;
  session: KnownSession | null;
  /** Answers the request here if possible; `null` if only a core can. */
  answerHere: (() => boolean) | null;
}

export class Forwarder {
  private readonly sessions = new TokenMap<KnownSession>();
  private readonly records = new RecordBuffer();
  private readonly writer = new FrameWriter();
  private readonly waiting: Pending<Waiting>;

  constructor(private readonly options: ForwarderOptions) {
    const { elapsedMs } = options;
    this.waiting = new Pending<Waiting>({
      elapsedMs,
      send: (waiting, number) => this.sendAgain(waiting, number),
      giveUp: (waiting, _number, isLate) => this.giveUp(waiting, isLate),
    });
  }

  get count(): number {
    return this.waiting.count;
  }

  get sentAgainCount(): number {
    return this.waiting.sentAgainCount;
  }

  /** @param answerHere answers a read here if no core does; returns false if impossible */
  forward(
    reply: Reply,
    route: Route,
    body: ReceivedBody,
    answerHere: (() => boolean) | null = null,
  ): void {
    const { link, mayMove, elapsedMs } = this.options;
    const { userToken } = reply.request;
    const session = userToken === '' || !link.isOpen ? null : this.sessions.of(userToken);
    const command = session === null ? null : this.commandOf(reply.request, session, route, body);
    const bytes = REQUEST_OVERHEAD_BYTES + body.bytes.byteLength;
    const isCancel = route.quota === 'cancels' || (command !== null && onlyCancels(command));
    if (this.waiting.isFull(bytes, isCancel ? CANCELS_PART : 1)) {
      reply.refuseOverloaded();
      return;
    }
    const readMs = answerHere === null ? READ_MS : OPTIONAL_MS;
    const waitMs = route.body === undefined ? readMs : CHANGE_TIMEOUT_MS;
    const number = this.waiting.add({
      reply,
      route,
      body: mayMove ? body.kept() : null,
      command,
      session: command === null ? null : session,
      bytes,
      isRepeatable: isRepeatable(reply, route) && answerHere === null,
      isSent: link.isOpen,
      mayHaveExecuted: false,
      untilMs: mayMove ? elapsedMs() + waitMs : null,
      answerHere,
    });
    if (!link.isOpen) return;
    if (command === null) this.sendRequest(number, reply, route, body);
    else this.sendCommand(number, reply, command, session!, body.units);
  }

  /** Returns false if the frame is not about a request. @throws FrameError */
  receive(frame: FrameReader): boolean {
    if (frame.kind === ToEdge.known) {
      const key = frame.text();
      this.options.known.add(IPV4.test(key) ? Number(key) : key);
      return true;
    }
    if (frame.kind > ToEdge.dropped) return false;
    if (frame.kind === ToEdge.notServed) this.options.link.leave();
    const waiting = this.waiting.find(frame.id);
    if (waiting === null) return true;
    switch (frame.kind) {
      case ToEdge.result:
        this.waiting.take(frame.id);
        this.result(waiting, frame);
        break;
      case ToEdge.answer:
        this.waiting.take(frame.id);
        this.answer(waiting, frame);
        break;
      case ToEdge.unknownSession:
        this.sessions.delete(waiting.session!.token);
        this.returned(waiting, frame.id);
        break;
      case ToEdge.notServed:
        this.returned(waiting, frame.id);
        break;
      case ToEdge.dropped:
        this.waiting.take(frame.id);
        waiting.reply.drop();
        break;
    }
    return true;
  }

  /** Call when a connection to a leader is open. Sends the pending requests. */
  opened(): void {
    this.waiting.opened();
  }

  closed(): void {
    this.sessions.clear();
    this.waiting.closed();
  }

  stop(): void {
    this.waiting.giveUpAll();
  }

  /** Returns `null` if the core needs the whole request. */
  private commandOf(
    request: Request,
    { userId, tokenId }: KnownSession,
    route: Route,
    body: ReceivedBody,
  ): Command | null {
    const { assets } = this.options;
    return readCommand({ request, assets, userId, tokenId, idempotencyKey: null }, route, body);
  }

  private sendCommand(
    number: number,
    reply: Reply,
    command: Command,
    session: KnownSession,
    own: number,
  ): void {
    const { writer, records } = this;
    records.clear();
    records.append(command, 0);
    writer.begin(ToCore.command, number, { own }).integer(session.number);
    writer.content(reply.outlet.addressBytes);
    this.options.link.send(writer, records.bytes.subarray(0, records.byteLength));
  }

  private sendRequest(
    number: number,
    { request, outlet, isSecure }: Reply,
    route: Route,
    { tooLarge, bytes }: ReceivedBody,
  ): void {
    const { writer } = this;
    writer.begin(ToCore.request, number, { flags: tooLarge ? RequestFlag.tooLarge : 0 });
    writer.content(outlet.addressBytes);
    writer.text(routeName(route)).text(request.method).text(request.rawQuery);
    writer.texts(request.rawParameters).texts(request.headersToForward(isSecure));
    this.options.link.send(writer, bytes);
  }

  private returned(waiting: Waiting, number: number): void {
    waiting.isSent = false;
    const { link, mayMove } = this.options;
    if (!mayMove || (!link.isOpen && waiting.answerHere !== null)) this.waiting.giveUp(number);
    else if (link.isOpen) this.waiting.send(number);
  }

  /** Sends the request itself, because another leader has not numbered the session. */
  private sendAgain({ reply, route, body }: Waiting, number: number): boolean {
    if (reply.isOver) return false;
    this.sendRequest(number, reply, route, body!);
    return true;
  }

  private result(waiting: Waiting, frame: FrameReader): void {
    const { reply, route, command, session } = waiting;
    const { assets } = this.options;
    const values = prepareResult(frame, { reply, assets, command: command!, route });
    const sequence = values[ResultHead.sequence]!;
    this.note({ userId: session!.userId, route, sequence }, reply, () => reply.release());
  }

  private answer(waiting: Waiting, frame: FrameReader): void {
    const { reply, route, mayHaveExecuted } = waiting;
    const status = frame.own;
    const [sequence, userId, number] = [frame.number(), frame.integer(), frame.integer()];
    const tokenId = frame.number();
    const { userToken: token } = reply.request;
    if (number !== 0) this.sessions.add({ token, number, userId, tokenId });
    else if (userId !== 0 && token === '' && !reply.isOver) this.options.known.renew(reply.address);
    if (route.body !== undefined && mayHaveExecuted && BEFORE_THE_ENGINE.has(status)) {
      if (!reply.isOver) reply.refuseNow(OUTCOME_UNKNOWN);
      return;
    }
    const [contentType, headers, bytes] = [frame.text(), frame.texts(), frame.rest().slice()];
    const body = bytes.byteLength === 0 ? '' : bytes;
    const answer = { status, contentType, headers, rateLimit: null, body, sequence };
    this.note({ userId, route, sequence }, reply, () => reply.relay(answer));
  }

  private note(
    of: { userId: number; route: Route; sequence: number },
    reply: Reply,
    give: () => void,
  ): void {
    const { onAnswer = (_of, go) => go() } = this.options;
    onAnswer(of, () => {
      if (!reply.isOver) give();
    });
  }

  private giveUp(waiting: Waiting, isLate: boolean): void {
    const { reply, route, isSent, mayHaveExecuted, answerHere } = waiting;
    if (isLate && answerHere !== null) this.options.onSilent?.();
    if (reply.isOver || answerHere?.() === true) return;
    // Reads execute nothing, so they are never in doubt.
    if ((isSent || mayHaveExecuted) && route.body !== undefined) reply.refuseNow(OUTCOME_UNKNOWN);
    else reply.refuseOverloaded();
  }
}

/** Whether the request is executed at most once, however often it is sent. */
function isRepeatable({ request }: Reply, { body, idempotent }: Route): boolean {
  if (body === undefined) return true;
  const { idempotencyKeys, idempotencyKey } = request;
  return idempotent === true && idempotencyKeys === 1 && IDEMPOTENCY_KEY.test(idempotencyKey);
}
