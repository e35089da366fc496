/**
 * Handles the messages of clients.
 *
 * Always holds:
 * - every message gets at least one answer, in order. An invalid one gets an `error` and changes
 *   nothing;
 * - every answer waits until the state that it shows is durable, so answers and channel messages
 *   have one order;
 * - for fair use, every message is a read of its address and its user, and so is each further
 *   channel that it names, and every {@link MESSAGES_PER_READ} messages that a `resume` replays.
 */
import type { Session } from '../auth/sessions.js';
import { type ErrorAnswer, errorAnswer, invalidRequest, rateLimited } from '../http/errors.js';
import type { Gateway } from '../http/gateway.js';
import { inexactNumber } from '../json/decimal.js';
import { cut, fieldProblems, problemText } from '../json/problems.js';
import { colonCount, repeatedKey } from '../json/repeated-key.js';
import type { Channel } from './channels/channel.js';
import {
  authenticatedText,
  errorText,
  pongText,
  resumeText,
  unsubscribedText,
} from './channels/message-text.js';
import { type ChannelId, channelNamed } from './channels/names.js';
import type { Connection, Subscription } from './connection.js';
import type { Connections } from './connections.js';
import type { Hub } from './hub.js';
import { CLOSE, type StreamLimits } from './limits.js';
import { ClientMessage } from './requests.js';

const MESSAGES_PER_READ = 100;

export function userLimitMessage({ connectionsPerUser }: StreamLimits): string {
  return `The user has ${connectionsPerUser} connections, which is the limit.`;
}

type Operation<Name extends ClientMessage['op']> = Extract<ClientMessage, { op: Name }>;

interface ProtocolOptions {
  gateway: Gateway;
  hub: Hub;
  connections: Connections;
  limits: StreamLimits;
  elapsedMs: () => number;
}

export class Protocol {
  constructor(private readonly options: ProtocolOptions) {}

  /** Handles one message. uWebSockets.js reuses `bytes` after the call. */
  receive(connection: Connection, bytes: ArrayBuffer, isBinary: boolean): void {
    if (!this.afford(connection, 1)) return;
    const input = this.readInput(bytes, isBinary);
    if ('status' in input) this.refuse(connection, input);
    else this.handle(connection, input);
  }

  /** Returns false if the connection exceeds its rate; it then gets an error and is closed. */
  afford(connection: Connection, operations: number): boolean {
    if (connection.takeOperations(operations)) return true;
    const message = 'Too many messages. Connect again later.';
    connection.send(errorText(errorAnswer('rate_limited', {}, message)));
    connection.end(CLOSE.rateLimited);
    return false;
  }

  private readInput(bytes: ArrayBuffer, isBinary: boolean): ReceivedMessage | ErrorAnswer {
    const { messageBytes } = this.options.limits;
    if (bytes.byteLength > messageBytes) {
      return errorAnswer('body_too_large', {}, `The message is larger than ${messageBytes} bytes.`);
    }
    if (isBinary) return errorAnswer('invalid_json', {}, 'Send text messages, not binary ones.');
    const message = Buffer.from(bytes);
    return { text: message.toString('utf8'), colons: colonCount(message) };
  }

  private handle(connection: Connection, received: ReceivedMessage): void {
    if (!this.allows(connection, 1)) return;
    const message = readMessage(received);
    if ('status' in message) this.refuse(connection, message);
    else if (this.options.gateway.isStopping()) {
      this.refuse(connection, errorAnswer('unavailable', { executed: false }));
    } else this.execute(connection, message);
  }

  private execute(connection: Connection, message: ClientMessage): void {
    switch (message.op) {
      case 'auth':
        this.authenticate(connection, message);
        return;
      case 'subscribe':
        this.subscribe(connection, message.channels);
        return;
      case 'unsubscribe':
        this.unsubscribe(connection, message.channels);
        return;
      case 'resume':
        this.resume(connection, message);
        return;
      case 'ping':
        this.reply(connection, pongText(this.options.hub.stamp));
    }
  }

  private authenticate(connection: Connection, message: Operation<'auth'>): void {
    const { sessions, sequencer } = this.options.gateway;
    const session = sessions.check(message.token, sequencer.engine);
    if (typeof session === 'string') {
      this.refuse(connection, errorAnswer(session));
    } else if (connection.userId !== 0 && connection.userId !== session.userId) {
      this.refuse(connection, errorAnswer('user_mismatch'));
    } else if (this.exceedsUserLimit(connection, session)) {
      const message = userLimitMessage(this.options.limits);
      this.refuse(connection, errorAnswer('limit_reached', {}, message));
    } else {
      this.options.connections.signIn(connection, session);
      connection.cancelOnDisconnect = message.cancelOnDisconnect ?? false;
      this.reply(connection, authenticatedText(session.userId, connection.cancelOnDisconnect));
    }
  }

  private exceedsUserLimit(connection: Connection, { userId }: Session): boolean {
    const { connections, limits } = this.options;
    return connection.userId === 0 && connections.countOfUser(userId) >= limits.connectionsPerUser;
  }

  /** Returns false if the address or user exceeds its rate; the error says when to retry. */
  private allows(connection: Connection, reads: number): boolean {
    const { fairUse } = this.options.gateway;
    const { address, userId } = connection;
    const ofAddress = fairUse.take('reads', 'address', address, reads);
    const result =
      userId === 0 || ofAddress?.granted === false
        ? ofAddress
        : fairUse.take('reads', 'user', userId, reads);
    if (result === null || result.granted) return true;
    this.refuse(connection, rateLimited(result.waitMs).error);
    return false;
  }

  private subscribe(connection: Connection, names: string[]): void {
    // The message itself has already been counted.
    const more = names.length - 1;
    if (!this.afford(connection, more) || (more > 0 && !this.allows(connection, more))) return;
    const channels = this.channelsFor(connection, names);
    if (channels === null) return;
    const { hub } = this.options;
    const begun = channels.map((channel) => ({
      subscription: connection.subscribe(channel),
      texts: [channel.snapshot(hub.stamp)],
    }));
    this.begin(connection, begun);
  }

  private resume(connection: Connection, { channel: name, after }: Operation<'resume'>): void {
    const channel = this.channelsFor(connection, [name])?.[0];
    if (channel === undefined) return;
    const { stamp } = this.options.hub;
    const missed = channel.since(after);
    const reads = Math.floor((missed?.length ?? 0) / MESSAGES_PER_READ);
    if (reads > 0 && !this.allows(connection, reads)) return;
    const subscription = connection.subscribe(channel);
    const texts =
      missed === null
        ? [resumeText('gap', channel, after, stamp), channel.snapshot(stamp)]
        : [resumeText('resumed', channel, after, stamp), ...missed];
    this.begin(connection, [{ subscription, texts }]);
  }

  private unsubscribe(connection: Connection, names: string[]): void {
    const subscriptions = names.map((name) => connection.subscriptions.get(name));
    const unknown = names.filter((_, i) => subscriptions[i] === undefined);
    if (unknown.length > 0) {
      const problems = Object.fromEntries(unknown.map((name) => [name, 'is not subscribed to']));
      this.refuse(connection, invalidRequest(problems));
      return;
    }
    for (const subscription of subscriptions) connection.drop(subscription!);
    this.reply(connection, unsubscribedText(names));
  }

  /** The channels with these names; null: refused. */
  private channelsFor(connection: Connection, names: string[]): Channel[] | null {
    const { gateway, hub, limits } = this.options;
    const ids: ChannelId[] = [];
    for (const name of names) {
      const id = channelNamed(gateway.sequencer.engine, connection.userId, name);
      if ('status' in id) {
        this.refuse(connection, id);
        return null;
      }
      ids.push(id);
    }
    const added = names.filter((name) => !connection.subscriptions.has(name)).length;
    if (connection.subscriptions.size + added > limits.subscriptions) {
      const message = `A connection can subscribe to at most ${limits.subscriptions} channels.`;
      this.refuse(connection, errorAnswer('limit_reached', {}, message));
      return null;
    }
    return ids.map((id) => hub.channel(id));
  }

  /** Later messages of the channels follow: both are sent in the order of their commands. */
  private begin(
    connection: Connection,
    begun: { subscription: Subscription; texts: string[] }[],
  ): void {
    this.whenDurable(() => {
      for (const { subscription, texts } of begun) connection.start(subscription, texts);
    });
  }

  private refuse(connection: Connection, error: ErrorAnswer): void {
    this.reply(connection, errorText(error));
  }

  private reply(connection: Connection, text: string): void {
    this.whenDurable(() => connection.send(text));
  }

  private whenDurable(release: () => void): void {
    const { sequencer } = this.options.gateway;
    sequencer.releaseAt(sequencer.engine.sequence, { release });
  }
}

interface ReceivedMessage {
  text: string;
  /** Number of colons in the text. */
  colons: number;
}

function readMessage({ text, colons }: ReceivedMessage): ClientMessage | ErrorAnswer {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return errorAnswer('invalid_json', {}, 'The message is not valid JSON. Send one JSON object.');
  }
  const repeated = repeatedKey(json, text, colons);
  if (repeated !== null) return invalidRequest({ [repeated]: 'is duplicated' });
  const parsed = ClientMessage.safeParse(json, { error: problemText });
  if (!parsed.success) return invalidRequest(fieldProblems(parsed.error, 'message'));
  const inexact = inexactNumber(text);
  return inexact === null
    ? parsed.data
    : invalidRequest({ message: `contains a number with too many digits: ${cut(inexact)}` });
}
