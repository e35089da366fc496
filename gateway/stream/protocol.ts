/**
 * Handles client messages.
 *
 * Invariants:
 * - Every message gets at least one answer, in order. An invalid message changes nothing.
 * - An answer is sent once the state it shows is durable, in one order with channel messages.
 * - A message costs the address and the user one read, plus one per additional channel named and
 *   one per {@link MESSAGES_PER_READ} messages replayed by a `resume`. Order entry counts as orders
 *   instead (all charges: CONFIGURATION.md).
 */
import {
  type Cost,
  operationsOfRefusal,
  unitsOfAnswer,
  unitsOfBody,
} from '../access/fair-use/charges.js';
import { Bill, type Quota } from '../access/fair-use/fair-use.js';
import type { Session } from '../access/sessions.js';
import { costOf, costOfUnread } from '../commands/cancels.js';
import {
  type ErrorAnswer,
  errorAnswer,
  invalidRequest,
  rateLimited,
  UNAVAILABLE,
} from '../commands/errors.js';
import { readerKeyOf } from '../commands/history-query.js';
import { identify } from '../commands/intake.js';
import type { Gateway } from '../http/gateway.js';
import type { FieldProblems } from '../json/problems.js';
import type { Channel } from './channels/channel.js';
import {
  authenticatedText,
  type ErrorSource,
  errorText,
  pongText,
  resumeText,
  unsubscribedText,
} from './channels/message-text.js';
import { channelNamed } from './channels/names.js';
import type { ClientMessage } from './client-messages.js';
import { idIn, idOf } from './client-messages.js';
import type { Connection, Subscription } from './connection.js';
import type { Connections } from './connections.js';
import type { Hub } from './hub.js';
import { CLOSE, type StreamLimits } from './limits.js';
import { type ReceivedMessage, readJson, validateMessage } from './message-reader.js';
import { OrderEntry, type OrdersElsewhere } from './orders/order-entry.js';
import {
  isOrderEntry,
  namesAnotherUser,
  type OrderEntryMessage,
  type OrderRequest,
  OrderRequestReader,
  orderRequest,
} from './orders/order-messages.js';
import { READS_PER_REPLAY, UserResumes } from './resume/user-resumes.js';

const RATE_LIMITED = errorAnswer('rate_limited').status;
const MESSAGES_PER_READ = 100;
const RESUMED_AGAIN_MS = 1_000;
export function userLimitMessage({ connectionsPerUser }: StreamLimits): string {
  return `The user has ${connectionsPerUser} connections, which is the limit.`;
}

type MessageOf<Name extends ClientMessage['op']> = Extract<ClientMessage, { op: Name }>;

/** `isLate`: whether the request has already waited for its sequence. */
type ResumeRequest = MessageOf<'resume'> & { isLate?: boolean };

interface ProtocolOptions {
  gateway: Gateway;
  hub: Hub;
  connections: Connections;
  limits: StreamLimits;
  elapsedMs: () => number;
  remote: OrdersElsewhere | null;
}

export class Protocol {
  private readonly reader = new OrderRequestReader();
  readonly orders: OrderEntry;
  readonly resumes: UserResumes;

  constructor(private readonly options: ProtocolOptions) {
    this.orders = new OrderEntry(options.gateway, options.limits.outstandingRequests);
    this.resumes = new UserResumes(options);
  }

  stop(): Promise<void> {
    return this.resumes.stop();
  }

  /** uWebSockets.js reuses `bytes` after the call. */
  receive(connection: Connection, bytes: ArrayBuffer, isBinary: boolean): void {
    if (connection.isEnding) {
      connection.ignoreFrame();
      return;
    }
    const receivedMs = this.options.elapsedMs();
    const { engine } = this.options.gateway.sequencer;
    const text = new Uint8Array(bytes);
    const bill = new Bill(connection);
    bill.payer = connection.session;
    // Only order entry may be this large. It is charged before it is parsed.
    if (text.length > this.options.limits.messageBytes) {
      const { quota, units } = costOfUnread(text);
      if (!this.charge(connection, bill, units, idIn(text), quota)) return;
    }
    if (!isBinary && connection.userId !== 0) {
      const request = this.reader.read(engine, text, connection.userId);
      if (request !== null) {
        this.enter(connection, request, bill, text.length, receivedMs);
        return;
      }
    }
    const message = readJson(bytes, isBinary);
    if (isOrderEntry(message.json))
      this.enterUnread(connection, message, bill, costOfUnread(text), receivedMs);
    else if (this.afford(connection, 1)) this.handle(connection, message, bill);
  }

  private enter(
    connection: Connection,
    request: OrderRequest,
    bill: Bill,
    bytes: number,
    receivedMs: number,
  ): void {
    const { remote } = this.options;
    const cost = costOf(request.command);
    cost.units = Math.max(cost.units, unitsOfBody(bytes));
    const refusal =
      this.orders.admit(connection, cost, bill) ??
      (remote === null
        ? this.orders.execute(connection, request, bill, receivedMs)
        : remote.send(connection, request, cost.units));
    if (refusal !== null) this.refuseOrder(connection, refusal, request.id, cost.units);
  }

  /** Parses order entry through the schemas, which explain what is invalid. */
  private enterUnread(
    connection: Connection,
    { json, text, colons, bytes }: ReceivedMessage,
    bill: Bill,
    cost: Cost,
    receivedMs: number,
  ): void {
    const { engine } = this.options.gateway.sequencer;
    const { userId } = connection;
    const refuse = (error: ErrorAnswer) =>
      this.refuseOrder(connection, error, idOf(json), cost.units);
    const refusal = this.orders.admit(connection, cost, bill);
    if (refusal !== null) {
      refuse(refusal);
      return;
    }
    if (namesAnotherUser(json as object, `u${userId}`)) {
      refuse(errorAnswer('user_mismatch'));
      return;
    }
    const message = validateMessage({ json, text, colons });
    const request =
      'status' in message ? message : orderRequest(engine, userId, message as OrderEntryMessage);
    if ('status' in request) refuse(request);
    else this.enter(connection, request, bill, bytes, receivedMs);
  }

  private refuseOrder(
    connection: Connection,
    error: ErrorAnswer,
    id: string | undefined,
    units: number,
  ): void {
    if (this.affordRefusal(connection, error, units)) this.refuse(connection, error, { id });
  }

  /** Like {@link afford}. Closes a client that keeps sending above its address's rate. */
  affordRefusal(connection: Connection, { status }: ErrorAnswer, units: number): boolean {
    const { fairUse } = this.options.gateway;
    const isFlood = status === RATE_LIMITED && fairUse.countFree(connection.address);
    return this.afford(connection, isFlood ? Number.POSITIVE_INFINITY : operationsOfRefusal(units));
  }

  /** False above the rate: after earlier answers, the connection gets an error and is closed. */
  afford(connection: Connection, operations: number): boolean {
    if (connection.isEnding) connection.ignoreFrame();
    else if (connection.takeOperations(operations)) return true;
    else this.exceeded(connection);
    return false;
  }

  exceeded(connection: Connection): void {
    if (connection.isEnding) return;
    connection.isEnding = true;
    const message = 'Too many messages. Connect again later.';
    this.whenDurable(() => {
      connection.send(errorText(errorAnswer('rate_limited', {}, message)));
      connection.endWhenAnswered(CLOSE.rateLimited);
    });
  }

  private handle(connection: Connection, received: ReceivedMessage, bill: Bill): void {
    const { gateway, limits } = this.options;
    const id = idOf(received.json);
    if (!this.charge(connection, bill, received.units, id)) return;
    if (received.bytes > limits.messageBytes) {
      const text = `The message is larger than ${limits.messageBytes} bytes.`;
      this.refuse(connection, errorAnswer('body_too_large', {}, text), { id });
      return;
    }
    if (received.problem !== null) {
      this.refuse(connection, received.problem, { id });
      return;
    }
    const message = validateMessage(received);
    if ('status' in message) this.refuse(connection, message, { id });
    else if (gateway.isStopping()) this.refuse(connection, UNAVAILABLE, { id });
    else this.execute(connection, message, bill);
  }

  private execute(connection: Connection, message: ClientMessage, bill: Bill): void {
    switch (message.op) {
      case 'auth':
        this.authenticate(connection, message);
        return;
      case 'subscribe':
        this.subscribe(connection, message, bill);
        return;
      case 'unsubscribe':
        this.unsubscribe(connection, message);
        return;
      case 'resume':
        this.resume(connection, message, bill);
        return;
      case 'ping':
        this.reply(connection, this.pong(connection, message.id));
        return;
      case 'order':
      case 'batch':
        throw new Error('order entry has its own way');
    }
  }

  /** Never reports a sequence beyond what a running `resume` has sent. */
  private pong({ resumedTo }: Connection, id: string | undefined): string {
    const { sequence, atMs } = this.options.hub.stamp;
    return pongText({ sequence: Math.min(sequence, resumedTo), atMs }, id);
  }

  private authenticate(connection: Connection, message: MessageOf<'auth'>): void {
    const { gateway } = this.options;
    const { id, token } = message;
    const right = message.cancelOnDisconnect === true ? 'trade' : 'read';
    const session = identify(gateway, connection, token, right);
    if (typeof session === 'string') {
      this.refuse(connection, errorAnswer(session), { id });
    } else if ('status' in session) {
      this.refuse(connection, session, { id });
    } else if (connection.userId !== 0 && connection.userId !== session.userId) {
      this.refuse(connection, errorAnswer('user_mismatch'), { id });
    } else if (this.exceedsUserLimit(connection, session)) {
      const message = userLimitMessage(this.options.limits);
      const details = { limit: 'streamsPerUser' };
      this.refuse(connection, errorAnswer('limit_reached', details, message), { id });
    } else {
      session.lastUsedAtMs = gateway.sequencer.engine.nowMs;
      this.options.connections.signIn(connection, session);
      connection.cancelOnDisconnect = message.cancelOnDisconnect ?? false;
      connection.token = message.token;
      this.options.remote?.signedIn(connection);
      this.reply(connection, authenticatedText(session, connection.cancelOnDisconnect, id));
    }
  }

  private exceedsUserLimit(connection: Connection, { userId }: Session): boolean {
    const { connections, limits } = this.options;
    return (
      connection.userId === 0 && connections.countOfFamily(userId) >= limits.connectionsPerUser
    );
  }

  /** Raises a message's charge to `units` in total. Above a rate, sends an error, returns false. */
  private charge(
    connection: Connection,
    bill: Bill,
    units: number,
    id: string | undefined,
    quota: Quota = 'reads',
  ): boolean {
    const { fairUse } = this.options.gateway;
    const result = fairUse.charge(quota, bill, Math.max(units, bill.paid));
    if (result === null || result.granted) return true;
    const { error } = rateLimited(result.waitMs);
    if (this.affordRefusal(connection, error, units)) this.refuse(connection, error, { id });
    return false;
  }

  /** Sends an error for each channel that cannot be subscribed to, then begins the others. */
  private subscribe(
    connection: Connection,
    { id, channels: names }: MessageOf<'subscribe'>,
    bill: Bill,
  ): void {
    // The message itself is already counted.
    if (!this.afford(connection, names.length - 1)) return;
    if (!this.charge(connection, bill, names.length, id)) return;
    const { stamp } = this.options.hub;
    const begun: Begun[] = [];
    let owed = 0;
    for (const name of names) {
      const channel = this.channelFor(connection, name);
      if ('status' in channel) this.refuse(connection, channel, { id, channel: name });
      else {
        const subscription = connection.subscribe(channel);
        const snapshot = channel.snapshot(stamp, id);
        owed += unitsOfAnswer(snapshot);
        begun.push({ subscription, texts: [snapshot] });
      }
    }
    if (owed > 0) this.options.gateway.fairUse.owe(bill, owed);
    this.begin(connection, begun);
  }

  /** The client saw a later state at another replica. Answering now would show older state. */
  private resumeLater(
    connection: Connection,
    request: ResumeRequest,
    bill: Bill,
    number: number,
  ): void {
    this.options.gateway.waits.waitForNamed(number, readerKeyOf(connection), () => {
      if (connection.isOpen) this.resume(connection, { ...request, isLate: true }, bill);
    });
  }

  private resume(connection: Connection, request: ResumeRequest, bill: Bill): void {
    const { id, channel: name } = request;
    const after = numberToResume(request);
    const channel =
      typeof after === 'number' ? this.channelFor(connection, name) : invalidRequest(after);
    if ('status' in channel) {
      this.refuse(connection, channel, { id, channel: name });
      return;
    }
    const number = after as number;
    const { stamp } = this.options.hub;
    if (number > stamp.sequence && this.options.remote !== null && !request.isLate) {
      this.resumeLater(connection, request, bill, number);
      return;
    }
    const missed = channel.since(number, stamp.sequence);
    const isOld = missed === null && name === 'user' && number <= stamp.sequence;
    const reads = isOld ? READS_PER_REPLAY : Math.floor((missed?.length ?? 0) / MESSAGES_PER_READ);
    if (!this.charge(connection, bill, 1 + reads, id)) return;
    const subscription = connection.subscribe(channel);
    if (isOld) {
      this.resumes.begin(connection, subscription, { id, after: number });
      return;
    }
    const texts =
      missed === null
        ? [resumeText('gap', channel, number, stamp, id), channel.snapshot(stamp, id)]
        : [resumeText('resumed', channel, number, stamp, id), ...missed];
    this.begin(connection, [{ subscription, texts }]);
  }

  private unsubscribe(
    connection: Connection,
    { id, channels: names }: MessageOf<'unsubscribe'>,
  ): void {
    const subscriptions = names.map((name) => connection.subscriptions.get(name));
    const unknown = names.filter((_, i) => subscriptions[i] === undefined);
    if (unknown.length > 0) {
      const problems = Object.fromEntries(unknown.map((name) => [name, 'is not subscribed to']));
      this.refuse(connection, invalidRequest(problems), { id });
      return;
    }
    const resuming = subscriptions.find((subscription) => subscription!.isResuming);
    if (resuming !== undefined) {
      this.refuse(connection, isBeingResumed(resuming.channel.name), { id });
      return;
    }
    for (const subscription of subscriptions) connection.drop(subscription!);
    this.reply(connection, unsubscribedText(names, id));
  }

  private channelFor(connection: Connection, name: string): Channel | ErrorAnswer {
    const { gateway, hub, limits } = this.options;
    const id = channelNamed(gateway.sequencer.engine, connection.userId, name);
    if ('status' in id) return id;
    const { subscriptions } = connection;
    if (subscriptions.get(name)?.isResuming === true) return isBeingResumed(name);
    if (!subscriptions.has(name) && subscriptions.size >= limits.subscriptions) {
      const message = `A connection can subscribe to at most ${limits.subscriptions} channels.`;
      return errorAnswer('limit_reached', { limit: 'subscriptions' }, message);
    }
    return hub.channel(id);
  }

  /** Starts subscriptions once their first texts are durable. Later messages follow in order. */
  private begin(connection: Connection, begun: Begun[]): void {
    this.whenDurable(() => {
      for (const { subscription, texts } of begun) connection.start(subscription, texts);
    });
  }

  private refuse(connection: Connection, error: ErrorAnswer, about: ErrorSource): void {
    this.reply(connection, errorText(error, about));
  }

  private reply(connection: Connection, text: string): void {
    this.whenDurable(() => connection.inTurn(() => connection.send(text)));
  }

  private whenDurable(release: () => void): void {
    const { sequencer } = this.options.gateway;
    sequencer.releaseAt(sequencer.engine.sequence, { release });
  }
}

/** A second request would mix its messages with those of the running resume. */
function isBeingResumed(channel: string): ErrorAnswer {
  const message = `${channel} is being resumed. Ask again after \`replayed\`.`;
  return errorAnswer('unavailable', { executed: false, retryAfterMs: RESUMED_AGAIN_MS }, message);
}

interface Begun {
  subscription: Subscription;
  texts: string[];
}

function numberToResume({
  channel,
  after,
  afterSequence,
}: MessageOf<'resume'>): number | FieldProblems {
  if (afterSequence === undefined) return after ?? { after: 'is required' };
  if (after !== undefined) return { afterSequence: 'cannot be combined with after' };
  return channel === 'user' ? afterSequence : { afterSequence: 'is only for the channel user' };
}
