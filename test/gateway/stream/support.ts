/**
 * For stream tests over real sockets: custom limits for an exchange, and a client that checks every
 * message against the AsyncAPI document, and every channel's numbers for gaps.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, expect } from 'vitest';
import { type RawData, WebSocket } from 'ws';
import { ErrorBody } from '../../../gateway/commands/errors.js';
import { STREAM_LIMITS, type StreamLimits } from '../../../gateway/stream/limits.js';
import { OUTGOING_BYTES_MAX } from '../../../gateway/stream/parts.js';
import { eventually } from '../../support/eventually.js';
import type { TestServer, Trader } from '../../support/server.js';
import { programContract } from '../contract/check.js';
import { checkStreamMessage } from '../contract/stream-check.js';

// biome-ignore lint/suspicious/noExplicitAny: tests read messages field by field
export type Message = any;

/** The default limits of the stream, with these changes. */
export function streamLimits(limits: Partial<StreamLimits>): { stream: StreamLimits } {
  return { stream: { ...STREAM_LIMITS, ...limits } };
}

export interface Closing {
  code: number;
  reason: string;
}

export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly body: Message,
  ) {
    super(`refused with ${status}`);
  }
}

export class StreamClient {
  readonly messages: Message[] = [];
  readonly numbers = new Map<string, number>();
  /** Channels that have started and that the client has not left. */
  private readonly joined = new Set<string>();
  readonly closed: Promise<Closing>;
  closing: Closing | null = null;
  /** The problem with a message, which the next wait throws. */
  private fault: unknown = null;
  private read = 0;
  /** Parts of an incomplete message. */
  private readonly parts: string[] = [];

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data, isBinary) => this.take(data, isBinary));
    socket.on('error', () => {});
    this.closed = new Promise((resolve) =>
      socket.on('close', (code, reason) => {
        this.closing = { code, reason: reason.toString() };
        resolve(this.closing);
      }),
    );
  }

  static connect(
    port: number,
    headers: Record<string, string> = {},
    path = '/api/stream',
  ): Promise<StreamClient> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
    const client = new StreamClient(socket);
    return new Promise((resolve, reject) => {
      socket.once('open', () => resolve(client));
      socket.once('error', reject);
      socket.once('unexpected-response', (_request, response: IncomingMessage) => {
        let text = '';
        response.on('data', (data) => (text += data));
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          try {
            programContract().check('GET', path.replace('/api', ''), {
              status,
              headers: response.headers,
              text,
            });
            reject(new Refused(status, JSON.parse(text)));
          } catch (error) {
            reject(error);
          }
          socket.terminate();
        });
      });
    });
  }

  send(message: unknown): void {
    this.socket.send(JSON.stringify(message));
  }

  /** Sends messages so that they arrive together. */
  sendTogether(messages: readonly unknown[]): void {
    const { _socket: socket } = this.socket as unknown as { _socket: Socket };
    socket.cork();
    for (const message of messages) this.send(message);
    socket.uncork();
  }

  /** Waits for the next message that matches, and discards those before it. */
  async next(fits: string | ((message: Message) => boolean)): Promise<Message> {
    const test = typeof fits === 'string' ? (message: Message) => message.type === fits : fits;
    let found: Message;
    await eventually(() => {
      while (found === undefined && this.read < this.messages.length) {
        const message = this.messages[this.read++];
        if (test(message)) found = message;
      }
      return found !== undefined || this.closing !== null || this.fault !== null;
    });
    this.check();
    if (found === undefined) throw new Error(`closed: ${JSON.stringify(this.closing)}`);
    return found;
  }

  /** Sends a message and waits for the next error. */
  async refusal(message: unknown): Promise<Message> {
    if (typeof message === 'string' || Buffer.isBuffer(message)) this.socket.send(message);
    else this.send(message);
    return this.next('error');
  }

  /** Subscribes and waits for the snapshots. */
  async subscribe(...channels: string[]): Promise<Message[]> {
    this.send({ op: 'subscribe', channels });
    const snapshots: Message[] = [];
    for (const channel of channels) {
      snapshots.push(
        await this.next((message) => message.type === 'snapshot' && message.channel === channel),
      );
    }
    return snapshots;
  }

  /** Waits for the answer to a ping. Everything durable before has then arrived. */
  async caughtUp(): Promise<Message> {
    this.send({ op: 'ping' });
    return this.next('pong');
  }

  /** All messages but heartbeats, which come at any time. */
  get answers(): Message[] {
    return this.messages.filter((message) => message.type !== 'heartbeat');
  }

  of(channel: string): Message[] {
    return this.messages.filter((message) => message.channel === channel);
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
    this.check();
  }

  /** Disconnects without closing, as when a machine or a network fails. */
  async hangUp(): Promise<void> {
    this.socket.terminate();
    await this.closed;
    this.check();
  }

  /** Throws if a received message was invalid. */
  check(): void {
    if (this.fault !== null) throw this.fault;
  }

  private take(data: RawData, isBinary: boolean): void {
    try {
      expect(isBinary).toBe(false);
      const text = data.toString();
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(OUTGOING_BYTES_MAX);
      const message = JSON.parse(text);
      checkStreamMessage(message);
      if (message.type === 'part') this.takePart(message);
      else this.takeWhole(message);
    } catch (error) {
      this.fault ??= error;
    }
  }

  private takePart({ part, parts, text }: Message): void {
    expect(part).toBe(this.parts.push(text));
    if (part < parts) return;
    const message = JSON.parse(this.parts.splice(0).join(''));
    checkStreamMessage(message);
    this.takeWhole(message);
  }

  private takeWhole(message: Message): void {
    expect(this.parts, 'no message comes between two parts of another').toEqual([]);
    this.count(message);
    this.messages.push(message);
  }

  private count(message: Message): void {
    const { type, channel, channels, channelSequence, previousSequence, after } = message;
    if (type === 'unsubscribed') for (const left of channels) this.joined.delete(left);
    if (channelSequence === undefined || type === 'gap') return;
    if (type === 'delta' || type === 'closed') {
      expect(this.joined.has(channel), `${channel} is subscribed to`).toBe(true);
      const last = this.numbers.get(channel)!;
      expect(channelSequence, channel).toBe(message.sequence);
      expect(channelSequence, channel).toBeGreaterThan(last);
      if (type === 'delta') expect(previousSequence, channel).toBeLessThanOrEqual(last);
    } else this.joined.add(channel);
    this.numbers.set(channel, type === 'resumed' ? after : channelSequence);
  }
}

/** Clients of the running server. After each test they hang up, and their messages are checked. */
export function clientsOf(server: () => TestServer) {
  const clients: StreamClient[] = [];
  afterEach(() => {
    for (const client of clients.splice(0)) {
      client.socket.terminate();
      client.check();
    }
  });

  async function connect(
    headers: Record<string, string> = {},
    path?: string,
  ): Promise<StreamClient> {
    const client = await StreamClient.connect(server().exchange.port, headers, path);
    clients.push(client);
    return client;
  }

  const connectAs = (trader: Trader) => connect({ 'x-user-token': trader.token });

  /** Status and code of a refused handshake, such as `401 missing_token`. */
  async function refusal(headers: Record<string, string>): Promise<string> {
    const refused: Refused = await connect(headers).then(
      () => {
        throw new Error('the handshake succeeded');
      },
      (error) => error,
    );
    if (!(refused instanceof Refused)) throw refused;
    return `${refused.status} ${ErrorBody.parse(refused.body).error.code}`;
  }

  return { connect, connectAs, refusal };
}
