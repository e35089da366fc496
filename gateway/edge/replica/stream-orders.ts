/**
 * Replica side: orders of the stream's clients, which the leader executes.
 *
 * Invariants:
 * - A client's requests reach a leader in order of arrival. Each gets one answer, even if a leader
 *   that has read it is lost before answering.
 * - A request with an unknown outcome is sent to the next leader if it has an idempotency key.
 *   Otherwise, or if the next leader refuses it unexamined, the client gets `outcome_unknown`.
 * - Pending requests are bounded: per connection as on the leader, in total bytes, and in time.
 * - The end of a client with `cancelOnDisconnect` reaches a leader; if there is none, the next one.
 * - A receipt is sent once this replica's state includes it, so the messages of `user` come first.
 */
import type { Assets } from '../../../engine/interface/notation.js';
import type { ElapsedMs } from '../../access/fair-use/token-buckets.js';
import { type ErrorAnswer, OUTCOME_UNKNOWN, UNAVAILABLE } from '../../commands/errors.js';
import type { Sequencing } from '../../http/gateway.js';
import type { SequenceWaits } from '../../http/sequence-waits.js';
import { errorText } from '../../stream/channels/message-text.js';
import type { Connection } from '../../stream/connection.js';
import type { CloseReason } from '../../stream/limits.js';
import type { OrdersElsewhere } from '../../stream/orders/order-entry.js';
import type { OrderRequest } from '../../stream/orders/order-messages.js';
import type { CoreLink } from '../forwarder.js';
import { type FrameReader, FrameWriter, StreamFlag, ToCore, ToEdge } from '../link/frames.js';
import { orderFrame, readReply, recordOf, replySent } from '../order-records.js';
import {
  CHANGE_TIMEOUT_MS,
  Pending,
  type PendingRequest,
  REQUEST_OVERHEAD_BYTES,
} from '../pending.js';

interface Order extends PendingRequest {
  client: Client;
  request: OrderRequest;
  record: Uint8Array;
  units: number;
}

interface Client {
  connection: Connection;
  number: number;
  /** Whether the current leader knows the client. */
  isOpened: boolean;
  pending: Set<number>;
  /** Answers that wait for this replica's state, and the sequence of the last one. */
  held: number;
  heldSequence: number;
}

interface RemoteOptions {
  link: CoreLink;
  assets: Assets;
  waits: SequenceWaits;
  sequencer: Sequencing;
  elapsedMs: ElapsedMs;
}

export class StreamOrders implements OrdersElsewhere {
  private readonly writer = new FrameWriter();
  private readonly clients = new Map<Connection, Client>();
  private readonly byNumber = new Map<number, Client>();
  /** Clients, by user, that left while no leader could cancel their orders. */
  private readonly departed = new Map<number, Client>();
  private readonly pending: Pending<Order>;
  private lastClient = 0;

  constructor(private readonly options: RemoteOptions) {
    this.pending = new Pending<Order>({
      elapsedMs: options.elapsedMs,
      send: (order, number) => this.sendNow(order, number),
      giveUp: (order, number) => this.giveUp(order, number),
    });
  }

  /** The leader must know whether the client's end cancels its orders. */
  signedIn(connection: Connection): void {
    const known = this.clients.get(connection);
    if (known === undefined && !connection.cancelOnDisconnect) return;
    const client = known ?? this.add(connection);
    client.isOpened = false;
    if (this.options.link.isOpen) this.open(client);
  }

  /** Returns why the request is refused, or `null` if it is sent or waits for a leader. */
  send(connection: Connection, request: OrderRequest, units: number): ErrorAnswer | null {
    const record = recordOf(request, connection.session!.tokenId).slice();
    const bytes = REQUEST_OVERHEAD_BYTES + record.byteLength;
    if (this.pending.isFull(bytes)) return UNAVAILABLE;
    const { link, elapsedMs } = this.options;
    const client = this.clients.get(connection) ?? this.add(connection);
    const isRepeatable = request.command.idempotencyKey !== null && request.clientSequence === 0;
    const order = { client, request, record, units, bytes, isRepeatable };
    const untilMs = elapsedMs() + CHANGE_TIMEOUT_MS;
    const number = this.pending.add({ ...order, untilMs, isSent: false, mayHaveExecuted: false });
    client.pending.add(number);
    connection.outstanding++;
    if (link.isOpen) this.pending.send(number);
    return null;
  }

  closed(connection: Connection): void {
    const client = this.clients.get(connection);
    if (client === undefined) return;
    this.clients.delete(connection);
    this.byNumber.delete(client.number);
    for (const number of client.pending) this.pending.take(number);
    // `ended` may be iterating: an answer can close the connection.
    client.pending.clear();
    if (!this.options.link.isOpen) {
      if (connection.cancelOnDisconnect) this.departed.set(connection.userId, client);
    } else if (client.isOpened) this.close(client);
  }

  receive(frame: FrameReader): void {
    if (frame.kind === ToEdge.streamNotServed) this.options.link.leave();
    const client = this.byNumber.get(frame.id);
    if (client === undefined) return;
    switch (frame.kind) {
      case ToEdge.streamResult:
        this.answered(client, frame);
        return;
      case ToEdge.streamText:
        client.connection.answer(Buffer.from(frame.rest()));
        return;
      case ToEdge.streamEnd:
        this.ended(client, { code: frame.own, reason: frame.text() } as CloseReason);
        return;
      case ToEdge.streamNotServed: {
        const order = this.pending.find(frame.integer());
        if (order !== null) order.isSent = false;
      }
    }
  }

  linkOpened(): void {
    for (const client of this.departed.values()) {
      this.open(client);
      this.close(client);
    }
    this.departed.clear();
    for (const client of this.clients.values())
      if (client.connection.cancelOnDisconnect && !client.isOpened) this.open(client);
    this.pending.opened();
  }

  linkClosed(): void {
    for (const client of this.clients.values()) client.isOpened = false;
    this.pending.closed();
  }

  stop(): void {
    this.pending.stopSweeping();
  }

  private add(connection: Connection): Client {
    do this.lastClient = (this.lastClient + 1) % 2 ** 32;
    while (this.byNumber.has(this.lastClient));
    const number = this.lastClient;
    const none = { isOpened: false, pending: new Set<number>(), held: 0, heldSequence: 0 };
    const client = { connection, number, ...none };
    this.clients.set(connection, client);
    this.byNumber.set(number, client);
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

  private close({ number }: Client): void {
    this.options.link.send(this.writer.begin(ToCore.streamClosed, number));
  }

  private sendNow({ client, record, units }: Order, number: number): true {
    if (!client.isOpened) this.open(client);
    this.options.link.send(orderFrame(client.number, number, units), record);
    return true;
  }

  private answered(client: Client, frame: FrameReader): void {
    const number = frame.integer();
    const pending = this.pending.take(number);
    // Already answered here, because the leader took too long.
    if (pending === null) return;
    client.pending.delete(number);
    const { assets, sequencer, waits } = this.options;
    const reply = readReply(frame, assets, pending.request);
    const { connection } = client;
    const { sequence } = reply;
    // The refusal does not tell what an earlier leader has done.
    const isUnknown = sequence === 0 && pending.mayHaveExecuted;
    if (isUnknown) reply.text = errorText(OUTCOME_UNKNOWN, { id: pending.request.id });
    const deliver = () => {
      connection.answerRequest(reply.text);
      replySent(reply);
    };
    if (client.held === 0 && sequence <= sequencer.durableSequence) {
      deliver();
      return;
    }
    client.held++;
    client.heldSequence = Math.max(client.heldSequence, sequence);
    waits.wait(client.heldSequence, () => {
      client.held--;
      deliver();
    });
  }

  /** Called when the leader has closed the client. It executed none of the unanswered requests. */
  private ended(client: Client, reason: CloseReason): void {
    for (const number of client.pending) {
      this.pending.find(number)!.isSent = false;
      this.pending.giveUp(number);
    }
    client.connection.endWhenAnswered(reason);
  }

  private giveUp({ client, request, isSent, mayHaveExecuted }: Order, number: number): void {
    client.pending.delete(number);
    const error = isSent || mayHaveExecuted ? OUTCOME_UNKNOWN : UNAVAILABLE;
    client.connection.answerRequest(errorText(error, { id: request.id }));
  }
}
