/**
 * Edge side: sends clients' requests to the core and returns the core's answers. A command of a
 * session that the core has numbered travels as a record, every other request as it was sent.
 *
 * Invariants:
 * - A request is sent to another leader only if it cannot be executed twice: it has an idempotency
 *   key, changes nothing, or was returned unexecuted.
 * - Every request is answered once: by a core, here if this edge can, or, after too long a wait,
 *   with what is known about it. The answer denies execution only if no core has received the
 *   request. The next leader's limits do not refuse a change that an earlier leader may have
 *   executed.
 * - Pending requests are bounded in bytes, with a reserve for cancels.
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
import { prepareResult } from './results.js';

/** Time for a change to find a leader and be answered. Clients wait equally long. */
export const CHANGE_MS = 10_000;
/** Time for a read, and for a read that can be answered here from an older state. */
const READ_MS = 2_000;
const OPTIONAL_MS = 500;
/** Timeout check interval. */
export const SWEEP_MS = 100;

/** Limit on the bytes of all pending requests. */
export const BYTES_MAX = 64 * 1024 * 1024;
/** Cancels may exceed the limit by this factor, as in access/fair-use/overload.ts. */
const CANCELS_PART = 1.1;
/** Bytes counted per request in addition to its content. */
export const OWN_BYTES = 2 * 1024;
/** Statuses of refusals made before the engine and its remembered answers are consulted. */
const BEFORE_THE_ENGINE: ReadonlySet<number> = new Set([401, 403, 429, 503]);
const NUMBERS = 2 ** 32;
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

interface Waiting {
  number: number;
  reply: Reply;
  route: Route;
  /** The body, kept only if the request may be sent again. */
  body: Uint8Array | null;
  isTooLarge: boolean;
  /** The record to send; `null` if the request is sent as it is. */
  command: Command | null;
  session: KnownSession | null;
  bytes: number;
  /** Whether a core may have received the request and has not returned it. */
  isSent: boolean;
  /** Whether a lost core may have executed the request. */
  isDoubtful: boolean;
  untilMs: number;
  /** Answers the request here if possible; `null` if only a core can. */
  answerHere: (() => boolean) | null;
}

export class Forwarder {
  private readonly waiting = new Map<number, Waiting>();
  private readonly sessions = new TokenMap<KnownSession>();
  private readonly records = new RecordBuffer();
  private readonly writer = new FrameWriter();
  private bytes = 0;
  private lastNumber = 0;
  private sweeper: NodeJS.Timeout | null = null;
  private sentAgain = 0;

  constructor(private readonly options: ForwarderOptions) {}

  get count(): number {
    return this.waiting.size;
  }

  /** Requests sent to a second leader. */
  get sentAgainCount(): number {
    return this.sentAgain;
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
    const bytes = OWN_BYTES + body.bytes.byteLength;
    if (this.isFull(bytes, route, command)) {
      reply.refuseOverloaded();
      return;
    }
    const isChange = route.body !== undefined;
    const readMs = answerHere === null ? READ_MS : OPTIONAL_MS;
    const waiting: Waiting = {
      number: this.nextNumber(),
      reply,
      route,
      body: mayMove ? body.bytes.slice() : null,
      isTooLarge: body.tooLarge,
      command,
      session: command === null ? null : session,
      bytes,
      isSent: link.isOpen,
      isDoubtful: false,
      untilMs: mayMove ? elapsedMs() + (isChange ? CHANGE_MS : readMs) : 0,
      answerHere,
    };
    this.waiting.set(waiting.number, waiting);
    this.bytes += bytes;
    if (mayMove) this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS);
    if (!link.isOpen) return;
    if (command === null) this.sendRequest(waiting, body.bytes);
    else this.sendCommand(waiting, command, session!, body.units);
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
    const waiting = this.waiting.get(frame.id);
    if (waiting === undefined) return true;
    switch (frame.kind) {
      case ToEdge.result:
        this.result(waiting, frame);
        break;
      case ToEdge.answer:
        this.answer(waiting, frame);
        break;
      case ToEdge.unknownSession:
        this.sessions.delete(waiting.session!.token);
        this.returned(waiting);
        break;
      case ToEdge.notServed:
        this.returned(waiting);
        break;
      case ToEdge.dropped:
        this.forget(waiting);
        waiting.reply.drop();
        break;
    }
    return true;
  }

  /** Call when a connection to a leader is open. Sends the pending requests. */
  opened(): void {
    for (const waiting of this.waiting.values()) if (!waiting.isSent) this.sendAgain(waiting);
  }

  closed(): void {
    this.sessions.clear();
    for (const waiting of this.waiting.values()) {
      if (!waiting.isSent) continue;
      waiting.isSent = false;
      waiting.isDoubtful = true;
      if (!isRepeatable(waiting) || waiting.answerHere !== null) this.giveUp(waiting);
    }
  }

  /** Answers every pending request. */
  stop(): void {
    for (const waiting of this.waiting.values()) this.giveUp(waiting);
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

  private isFull(bytes: number, { quota }: Route, command: Command | null): boolean {
    const isCancel = quota === 'cancels' || (command !== null && onlyCancels(command));
    const part = isCancel ? CANCELS_PART : 1;
    return this.bytes + bytes > BYTES_MAX * part;
  }

  private sendCommand(
    { number, reply }: Waiting,
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

  private sendRequest({ number, reply, route, isTooLarge }: Waiting, body: Uint8Array): void {
    const { writer } = this;
    const { request } = reply;
    writer.begin(ToCore.request, number, { flags: isTooLarge ? RequestFlag.tooLarge : 0 });
    writer.content(reply.outlet.addressBytes);
    writer.text(routeName(route)).text(request.method).text(request.rawQuery);
    writer.texts(request.rawParameters).texts(request.headersToForward(reply.isSecure));
    this.options.link.send(writer, body);
  }

  private returned(waiting: Waiting): void {
    waiting.isSent = false;
    const { link, mayMove } = this.options;
    if (!mayMove || (!link.isOpen && waiting.answerHere !== null)) this.giveUp(waiting);
    else if (link.isOpen) this.sendAgain(waiting);
  }

  /** Sends the request itself, because another leader has not numbered the session. */
  private sendAgain(waiting: Waiting): void {
    if (waiting.reply.isOver) {
      this.forget(waiting);
      return;
    }
    if (waiting.isDoubtful) this.sentAgain++;
    waiting.isSent = true;
    this.sendRequest(waiting, waiting.body!);
  }

  private result(waiting: Waiting, frame: FrameReader): void {
    this.forget(waiting);
    const { reply, route, command, session } = waiting;
    const { assets } = this.options;
    const values = prepareResult(frame, { reply, assets, command: command!, route });
    const sequence = values[ResultHead.sequence]!;
    this.note({ userId: session!.userId, route, sequence }, reply, () => reply.release());
  }

  private answer(waiting: Waiting, frame: FrameReader): void {
    this.forget(waiting);
    const { reply, route, isDoubtful } = waiting;
    const status = frame.own;
    const [sequence, userId, number] = [frame.number(), frame.integer(), frame.integer()];
    const tokenId = frame.number();
    const { userToken: token } = reply.request;
    if (number !== 0) this.sessions.add({ token, number, userId, tokenId });
    else if (userId !== 0 && token === '' && !reply.isOver) this.options.known.renew(reply.address);
    if (route.body !== undefined && isDoubtful && BEFORE_THE_ENGINE.has(status)) {
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

  private sweep(): void {
    const nowMs = this.options.elapsedMs();
    for (const waiting of this.waiting.values()) {
      if (waiting.untilMs > nowMs) continue;
      if (waiting.answerHere !== null) this.options.onSilent?.();
      this.giveUp(waiting);
    }
  }

  private giveUp(waiting: Waiting): void {
    this.forget(waiting);
    const { reply, route, isSent, isDoubtful, answerHere } = waiting;
    if (reply.isOver || answerHere?.() === true) return;
    // Reads execute nothing, so they are never in doubt.
    if ((isSent || isDoubtful) && route.body !== undefined) reply.refuseNow(OUTCOME_UNKNOWN);
    else reply.refuseOverloaded();
  }

  private forget({ number, bytes }: Waiting): void {
    this.waiting.delete(number);
    this.bytes -= bytes;
    if (this.waiting.size > 0 || this.sweeper === null) return;
    clearInterval(this.sweeper);
    this.sweeper = null;
  }

  /** Skips numbers in use, so that a late answer is not taken for another request's. */
  private nextNumber(): number {
    do this.lastNumber = (this.lastNumber + 1) % NUMBERS;
    while (this.waiting.has(this.lastNumber));
    return this.lastNumber;
  }
}

/** Whether the request is executed at most once, however often it is sent. */
function isRepeatable({ reply, route }: Waiting): boolean {
  const { idempotencyKeys, idempotencyKey } = reply.request;
  if (route.body === undefined) return true;
  return route.idempotent === true && idempotencyKeys === 1 && IDEMPOTENCY_KEY.test(idempotencyKey);
}
