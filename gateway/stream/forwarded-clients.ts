/**
 * On the leader: the orders that clients of a replica's stream send. Each of those clients is a
 * connection here without channels, so that its orders pass the same checks, limits and order as
 * those of the leader's own stream.
 */
import type { Session } from '../auth/sessions.js';
import { type ClientHead, type CloseHead, FrameKind, frameOf } from '../replica/link-frames.js';
import type { ForwardedClients } from '../replica/listener.js';
import { Connection, type ConnectionOptions } from './connection.js';
import { CLOSE, type CloseReason } from './limits.js';

interface ForwardedOptions extends ConnectionOptions {
  number: number;
  /** The sequence that is durable now. */
  durableSequence: () => number;
  reply: (frame: Uint8Array) => void;
}

/** A connection whose socket is a replica's. */
export class ForwardedConnection extends Connection {
  /** Whether the exchange has closed it, or the client has left. */
  isEnded = false;

  constructor(private readonly forwarded: ForwardedOptions) {
    super(forwarded);
  }

  override send(text: string): void {
    this.answer(text);
  }

  override answer(text: string | Uint8Array): void {
    if (this.isEnded) return;
    const { number, durableSequence, reply } = this.forwarded;
    const head = JSON.stringify({ sequence: durableSequence() });
    reply(frameOf(FrameKind.clientAnswer, number, head, text));
  }

  override end(why: CloseReason): void {
    if (this.isEnded) return;
    this.isEnded = true;
    const { number, reply, onEnd } = this.forwarded;
    onEnd(why);
    const head: CloseHead = why;
    reply(frameOf(FrameKind.clientClosed, number, JSON.stringify(head)));
  }

  /** The client has left. */
  leave(): void {
    this.isEnded = true;
    this.closed();
  }
}

interface ClientsOptions {
  isStopping: () => boolean;
  reply: (frame: Uint8Array) => void;
  connect(number: number, addressBytes: Uint8Array): ForwardedConnection;
  /** The session of a token that may be used from there, or why the client is closed. */
  sessionOf(token: string, addressBytes: Uint8Array): Session | CloseReason;
  joined(connection: ForwardedConnection, session: Session): void;
  receive(connection: ForwardedConnection, bytes: ArrayBuffer): void;
  left(connection: ForwardedConnection): void;
}

export class ClientsOfReplica implements ForwardedClients {
  private readonly clients = new Map<number, ForwardedConnection>();

  constructor(private readonly options: ClientsOptions) {}

  /** Also when a client signs in again, which sets cancelOnDisconnect anew. */
  opened(number: number, head: ClientHead, addressBytes: Uint8Array): void {
    const { connect, sessionOf, joined } = this.options;
    const known = this.clients.get(number);
    const connection = known ?? connect(number, addressBytes);
    const session = sessionOf(head.token, addressBytes);
    const isRefused = 'code' in session;
    if (isRefused || (connection.userId !== 0 && connection.userId !== session.userId)) {
      connection.end(isRefused ? session : CLOSE.tokenRevoked);
      this.closed(number);
      return;
    }
    this.clients.set(number, connection);
    connection.cancelOnDisconnect = head.cancelOnDisconnect;
    joined(connection, session);
  }

  message(number: number, bytes: Uint8Array): void {
    const connection = this.clients.get(number);
    // It was ended here, and the replica has not heard of it yet.
    if (connection === undefined || connection.isEnded) return;
    const { isStopping, reply } = this.options;
    if (isStopping()) reply(frameOf(FrameKind.clientNotServed, number, ''));
    else this.options.receive(connection, bytes.slice().buffer as ArrayBuffer);
  }

  closed(number: number): void {
    const connection = this.clients.get(number);
    if (connection === undefined) return;
    this.clients.delete(number);
    connection.leave();
    this.options.left(connection);
  }

  allClosed(): void {
    for (const number of [...this.clients.keys()]) this.closed(number);
  }
}
