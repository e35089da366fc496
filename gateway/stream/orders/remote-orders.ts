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
import { CHANGE_MS } from '../../replica/forwarder.js';
import type { LeaderLink } from '../../replica/leader-link.js';
import {
  type ClientHead,
  type CloseHead,
  type Frame,
  FrameKind,
  frameOf,
  type MessageHead,
} from '../../replica/link-frames.js';
import type { SequenceWaits } from '../../time/sequence-waits.js';
import { errorText } from '../channels/message-text.js';
import type { Connection } from '../connection.js';
import type { CloseReason } from '../limits.js';
import { NOT_SIGNED_IN, tooManyUnanswered } from './order-messages.js';

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
  frame: Uint8Array;
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
  link: LeaderLink;
  waits: SequenceWaits;
  sequencer: Sequencing;
  elapsedMs: ElapsedMs;
  outstandingMax: number;
}

export class RemoteOrders {
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
    const frame = frameOf(FrameKind.clientMessage, client.number, '', bytes);
    if (this.bytes + frame.byteLength > BYTES_MAX) return UNAVAILABLE;
    const pending: Pending = {
      id: typeof id === 'string' ? id : undefined,
      isKeyed: typeof key === 'string' && CLIENT_ID.test(key),
      frame,
      isSent: false,
      isDoubtful: false,
      isAnswered: false,
      sinceMs: this.options.elapsedMs(),
    };
    client.pending.push(pending);
    this.bytes += frame.byteLength;
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
    for (const { frame } of client.pending) this.bytes -= frame.byteLength;
    const { link } = this.options;
    if (link.isOpen && client.isOpened)
      link.send(frameOf(FrameKind.clientClosed, client.number, ''));
  }

  /** Handles a frame; false: it is not about a client of the stream. */
  receive({ kind, number, head, body }: Frame): boolean {
    if (kind < FrameKind.clientAnswer) return false;
    const client = this.byNumber.get(number);
    if (kind === FrameKind.clientNotServed) this.options.link.leave();
    if (client === undefined) return true;
    if (kind === FrameKind.clientNotServed) client.returned++;
    else if (kind === FrameKind.clientClosed) this.ended(client, head as CloseHead as CloseReason);
    else this.answered(client, body, (head as MessageHead).sequence);
    return true;
  }

  /** The leader has closed the client, and looks at none of its later requests. */
  private ended(client: Client, reason: CloseReason): void {
    for (const pending of client.pending) {
      this.bytes -= pending.frame.byteLength;
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
    const head: ClientHead = {
      token: connection.token,
      address: Buffer.from(connection.addressBytes).toString('hex'),
      cancelOnDisconnect: connection.cancelOnDisconnect,
    };
    this.options.link.send(frameOf(FrameKind.clientOpened, number, JSON.stringify(head)));
    client.isOpened = true;
  }

  private flush(client: Client): void {
    if (!client.isOpened) this.open(client);
    for (const pending of client.pending) {
      if (pending.isSent) continue;
      pending.isSent = true;
      this.options.link.send(pending.frame);
    }
  }

  /** The leader answers a client's requests in order. */
  private answered(client: Client, body: Uint8Array, sequence: number): void {
    const pending = client.pending.shift();
    if (pending === undefined) return;
    this.bytes -= pending.frame.byteLength;
    if (pending.isAnswered) return;
    if (pending.isDoubtful && isBeforeTheEngine(body)) {
      this.answerHere(client, pending, OUTCOME_UNKNOWN);
      return;
    }
    const { connection } = client;
    const text = Buffer.from(body);
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
  private isOver({ isAnswered, isSent, frame }: Pending): boolean {
    const isOver = isAnswered && !isSent;
    if (isOver) this.bytes -= frame.byteLength;
    return isOver;
  }
}

/** Whether an answer is an error that says nothing of what an earlier leader has done. */
function isBeforeTheEngine(answer: Uint8Array): boolean {
  const { type, code } = JSON.parse(Buffer.from(answer).toString('utf8')) as {
    type: string;
    code?: string;
  };
  return type === 'error' && code !== undefined && BEFORE_THE_ENGINE.has(code);
}
