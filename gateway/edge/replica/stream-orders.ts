/**
 * On a replica: the orders of the stream's clients, which the leader executes.
 *
 * Always holds:
 * - a client's requests reach a leader in the order in which they came, and each gets one answer;
 * - one with an idempotency key is sent again to the next leader when its fate is unknown; one
 *   without gets the error `outcome_unknown`, and so does one that the next leader refuses to look
 *   at;
 * - what waits is bounded: per connection as on the leader, in bytes for all, and in time;
 * - a receipt is sent when this replica's state includes it, so the messages of `user` come first.
 */
import type { ElapsedMs } from '../../fair-use/token-buckets.js';
import { type ErrorAnswer, OUTCOME_UNKNOWN, UNAVAILABLE } from '../../http/errors.js';
import type { Sequencing } from '../../http/gateway.js';
import { CLIENT_ID } from '../../json/fields.js';
import { errorText } from '../../stream/channels/message-text.js';
import type { Connection } from '../../stream/connection.js';
import type { CloseReason } from '../../stream/limits.js';
import type { OrdersElsewhere } from '../../stream/orders/elsewhere.js';
import { NOT_SIGNED_IN, tooManyUnanswered } from '../../stream/orders/order-messages.js';
import type { SequenceWaits } from '../../time/sequence-waits.js';
import { CHANGE_MS, type CoreLink } from '../forwarder.js';
import { type FrameReader, FrameWriter, StreamFlag, ToCore, ToEdge } from '../link/frames.js';

const SWEEP_MS = 100;
const BYTES_MAX = 64 * 1024 * 1024;

/** Errors of a request that has not reached the engine, nor its remembered answers. */
const BEFORE_THE_ENGINE: ReadonlySet<string> = new Set([
  'missing_token',
  'invalid_token',
  'token_revoked',
  'token_expired',
  'scope_insufficient',
  'rate_limited',
  'unavailable',
]);

interface Pending {
  id: string | undefined;
  isKeyed: boolean;
  bytes: Uint8Array;
  isSent: boolean;
  /** Whether a leader may have executed it. */
  isDoubtful: boolean;
  /** Whether it was answered here, so that the leader's answer is dropped. */
  isAnswered: boolean;
  sinceMs: number;
}

interface Client {
  connection: Connection;
  number: number;
  /** Whether the present leader knows it. */
  isOpened: boolean;
  pending: Pending[];
  /** How many of the last requests that were sent a leader that stops has returned. */
  returned: number;
  /** Answers that wait for this replica's state. */
  held: number;
}

interface RemoteOptions {
  link: CoreLink;
  waits: SequenceWaits;
  sequencer: Sequencing;
  elapsedMs: ElapsedMs;
  outstandingMax: number;
}

export class StreamOrders implements OrdersElsewhere {
  private readonly writer = new FrameWriter();
  private readonly clients = new Map<Connection, Client>();
  private readonly byNumber = new Map<number, Client>();
  private readonly tooMany: ErrorAnswer;
  private lastNumber = 0;
  private bytes = 0;
  private sweeper: NodeJS.Timeout | null = null;

  constructor(private readonly options: RemoteOptions) {
    this.tooMany = tooManyUnanswered(options.outstandingMax);
  }

  /** A client has signed in: the leader must know if its end cancels its orders. */
  signedIn(connection: Connection): void {
    const known = this.clients.get(connection);
    if (known === undefined && !connection.cancelOnDisconnect) return;
    const client = known ?? this.add(connection);
    client.isOpened = false;
    if (this.options.link.isOpen) this.open(client);
  }

  /** Order entry as it came. Returns why it is not forwarded; null: it is. */
  send(connection: Connection, json: object, bytes: Uint8Array): ErrorAnswer | null {
    if (connection.session === null) return NOT_SIGNED_IN;
    if (connection.outstanding >= this.options.outstandingMax) return this.tooMany;
    const { id, idempotencyKey: key } = json as { id?: unknown; idempotencyKey?: unknown };
    const client = this.clients.get(connection) ?? this.add(connection);
    if (this.bytes + bytes.byteLength > BYTES_MAX) return UNAVAILABLE;
    const pending: Pending = {
      id: typeof id === 'string' ? id : undefined,
      isKeyed: typeof key === 'string' && CLIENT_ID.test(key),
      bytes: bytes.slice(),
      isSent: false,
      isDoubtful: false,
      isAnswered: false,
      sinceMs: this.options.elapsedMs(),
    };
    client.pending.push(pending);
    this.bytes += bytes.byteLength;
    connection.outstanding++;
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS);
    if (this.options.link.isOpen) this.flush(client);
    return null;
  }

  /** The client has left. */
  closed(connection: Connection): void {
    const client = this.clients.get(connection);
    if (client === undefined) return;
    this.clients.delete(connection);
    this.byNumber.delete(client.number);
    for (const { bytes } of client.pending) this.bytes -= bytes.byteLength;
    const { link } = this.options;
    if (link.isOpen && client.isOpened)
      link.send(this.writer.begin(ToCore.streamClosed, client.number));
  }

  /** Handles a frame; false: it is not about a client of the stream. */
  receive(frame: FrameReader): boolean {
    const client = this.byNumber.get(frame.id);
    switch (frame.kind) {
      case ToEdge.streamText:
        if (client !== undefined) this.answered(client, frame);
        return true;
      case ToEdge.streamEnd: {
        const reason = { code: frame.own, reason: frame.text() } as CloseReason;
        if (client !== undefined) this.ended(client, reason);
        return true;
      }
      case ToEdge.streamNotServed:
        this.options.link.leave();
        if (client !== undefined) client.returned++;
        return true;
      default:
        return false;
    }
  }

  /** The leader has closed the client, and looks at none of its later requests. */
  private ended(client: Client, reason: CloseReason): void {
    for (const pending of client.pending) {
      this.bytes -= pending.bytes.byteLength;
      if (pending.isAnswered) continue;
      this.answerHere(client, pending, pending.isDoubtful ? OUTCOME_UNKNOWN : UNAVAILABLE);
    }
    client.pending = [];
    client.connection.endWhenAnswered(reason);
  }

  /** There is a leader. */
  linkOpened(): void {
    for (const client of this.clients.values()) {
      const isWanted = client.pending.length > 0 || client.connection.cancelOnDisconnect;
      if (isWanted) this.flush(client);
    }
  }

  linkClosed(): void {
    for (const client of this.clients.values()) {
      client.isOpened = false;
      const sent = client.pending.filter(({ isSent }) => isSent);
      const executed = sent.slice(0, sent.length - client.returned);
      client.returned = 0;
      for (const pending of sent) pending.isSent = false;
      for (const pending of executed) {
        pending.isDoubtful = true;
        if (!pending.isKeyed && !pending.isAnswered)
          this.answerHere(client, pending, OUTCOME_UNKNOWN);
      }
      client.pending = client.pending.filter((pending) => !this.isOver(pending));
    }
  }

  stop(): void {
    if (this.sweeper !== null) clearInterval(this.sweeper);
    this.sweeper = null;
  }

  private add(connection: Connection): Client {
    do this.lastNumber = (this.lastNumber + 1) % 2 ** 32;
    while (this.byNumber.has(this.lastNumber));
    const client: Client = {
      connection,
      number: this.lastNumber,
      isOpened: false,
      pending: [],
      returned: 0,
      held: 0,
    };
    this.clients.set(connection, client);
    this.byNumber.set(client.number, client);
    return client;
  }

  private open(client: Client): void {
    const { connection, number } = client;
    const flags = connection.cancelOnDisconnect ? StreamFlag.cancelOnDisconnect : 0;
    const { writer } = this;
    writer.begin(ToCore.streamJoined, number, { flags }).text(connection.token);
    this.options.link.send(writer.content(connection.addressBytes));
    client.isOpened = true;
  }

  private flush(client: Client): void {
    if (!client.isOpened) this.open(client);
    for (const pending of client.pending) {
      if (pending.isSent) continue;
      pending.isSent = true;
      this.options.link.send(this.writer.begin(ToCore.streamMessage, client.number), pending.bytes);
    }
  }

  /** The leader answers a client's requests in order. */
  private answered(client: Client, frame: FrameReader): void {
    const sequence = frame.number();
    const text = Buffer.from(frame.rest());
    const pending = client.pending.shift();
    if (pending === undefined) return;
    this.bytes -= pending.bytes.byteLength;
    if (pending.isAnswered) return;
    if (pending.isDoubtful && isBeforeTheEngine(text)) {
      this.answerHere(client, pending, OUTCOME_UNKNOWN);
      return;
    }
    const { connection } = client;
    const deliver = () => connection.answerRequest(text);
    const { sequencer, waits } = this.options;
    if (client.held === 0 && sequence <= sequencer.durableSequence) {
      deliver();
      return;
    }
    client.held++;
    waits.wait(sequence, () => {
      client.held--;
      deliver();
    });
  }

  private sweep(): void {
    const beforeMs = this.options.elapsedMs() - CHANGE_MS;
    let waiting = 0;
    for (const client of this.clients.values()) {
      for (const pending of client.pending) {
        if (pending.sinceMs > beforeMs || pending.isAnswered) continue;
        const isUnknown = pending.isSent || pending.isDoubtful;
        this.answerHere(client, pending, isUnknown ? OUTCOME_UNKNOWN : UNAVAILABLE);
      }
      client.pending = client.pending.filter((pending) => !this.isOver(pending));
      waiting += client.pending.length;
    }
    if (waiting === 0) this.stop();
  }

  private answerHere({ connection }: Client, pending: Pending, error: ErrorAnswer): void {
    pending.isAnswered = true;
    connection.answerRequest(errorText(error, { id: pending.id }));
  }

  /** Whether the leader will not answer it any more; it is then forgotten. */
  private isOver({ isAnswered, isSent, bytes }: Pending): boolean {
    const isOver = isAnswered && !isSent;
    if (isOver) this.bytes -= bytes.byteLength;
    return isOver;
  }
}

/** Whether an answer is an error that says nothing of what an earlier leader has done. */
function isBeforeTheEngine(answer: Buffer): boolean {
  const { type, code } = JSON.parse(answer.toString('utf8')) as {
    type: string;
    code?: string;
  };
  return type === 'error' && code !== undefined && BEFORE_THE_ENGINE.has(code);
}
