/**
 * The stream, WebSocket /api/stream: its connections, heartbeats and stop. The hub makes the
 * messages, uWebSockets.js sends each to the subscribers of its topic, and protocol.ts handles what
 * clients send.
 *
 * Every 10 s of real time, each connection gets a WebSocket ping, and a heartbeat with the number
 * of the last message of each of its channels. A connection that answers no pings, or does not
 * read, is closed.
 */
import type { WebSocketBehavior } from 'uWebSockets.js';
import { isAllowed } from '../auth/allowed-addresses.js';
import type { Session } from '../auth/sessions.js';
import { addressKey } from '../fair-use/addresses.js';
import { writeError } from '../http/answers/write-error.js';
import { errorAnswer, invalidRequest } from '../http/errors.js';
import type { Gateway } from '../http/gateway.js';
import type { Router } from '../http/router.js';
import type { ForwardedClients } from '../replica/listener.js';
import { atMost } from '../time/at-most.js';
import { elapsedMs } from '../time/clock.js';
import { Backlogs } from './backlogs.js';
import { CancelOnDisconnect } from './cancel-on-disconnect.js';
import { heartbeatText } from './channels/message-text.js';
import type { ChannelKind } from './channels/names.js';
import { Connection, type SocketData } from './connection.js';
import { Connections } from './connections.js';
import { ClientsOfReplica, ForwardedConnection } from './forwarded-clients.js';
import { Handshake } from './handshake.js';
import { Hub } from './hub.js';
import { CLOSE, type CloseReason, type StreamLimits } from './limits.js';
import type { RemoteOrders } from './orders/remote-orders.js';
import { Protocol, userLimitMessage } from './protocol.js';

const PATH = '/api/stream';
const ALLOW = ['Allow', 'GET'] as const;
/**
 * A larger frame closes the connection without an error. Orders and batches may have this size: the
 * largest body over HTTP, and what the envelope adds.
 */
const FRAME_BYTES = 65 * 1024;
/** Heartbeats are spread over this many moments of an interval. */
const HEARTBEAT_SLOTS = 10;
/** Backlogs are checked each time this many characters have been published. */
const CHECK_AFTER_CHARACTERS = 256 * 1024;
/** How long a stop waits for clients to read what was sent. */
const LAST_READS_MS = 500;

export class StreamServer {
  private readonly connections = new Connections((userId) => this.isNewcomer(userId));
  /** Of replicas' clients, for their orders; they count as connections at their replica. */
  private readonly forwarded = new Connections(() => false);
  private readonly hub: Hub;
  private readonly backlogs: Backlogs;
  /** Connections closed by the exchange, by reason. */
  private readonly endings = new Map<string, number>();
  private readonly protocol: Protocol;
  private readonly cancels: CancelOnDisconnect;
  private router: Router | null = null;
  private timer: NodeJS.Timeout | null = null;
  private ticks = 0;
  private uncheckedCharacters = 0;
  private acceptedCount = 0;
  private upgraded = 0;
  private stopping = false;

  constructor(
    private readonly gateway: Gateway,
    private readonly limits: StreamLimits,
    /** Who executes orders, on a replica; null: this process. */
    private readonly remote: RemoteOrders | null = null,
  ) {
    const { sequencer } = gateway;
    this.backlogs = new Backlogs(this.limits, elapsedMs);
    this.hub = new Hub({
      engine: sequencer.engine,
      releaseAt: (sequence, target) => sequencer.releaseAt(sequence, target),
      publish: (topic, text) => this.publish(topic, text),
      onTokensEnded: (userId, version) => this.endTokens(userId, version),
      onTokenEnded: (userId, tokenId, reason) => this.endToken(userId, tokenId, reason),
      limits: this.limits,
    });
    this.protocol = new Protocol({
      gateway,
      hub: this.hub,
      connections: this.connections,
      limits: this.limits,
      elapsedMs,
      remote,
    });
    this.cancels = new CancelOnDisconnect(sequencer, gateway.log, gateway.fail);
  }

  /** WebSockets opened since the start. */
  get upgradedCount(): number {
    return this.upgraded;
  }

  get connectionCount(): number {
    return this.connections.count;
  }

  /** Current subscriptions, by kind of channel. */
  subscriberCounts(): Record<ChannelKind, number> {
    return this.hub.subscriberCounts();
  }

  /** Bytes waiting to be read by clients. */
  get backlogBytes(): number {
    return this.backlogs.bytes(this.connections);
  }

  /** Connections closed by the exchange since the start, by reason. */
  *endingCounts(): Generator<readonly [reason: string, count: number]> {
    yield* this.endings;
    yield ['cut_off', this.backlogs.cutOffCount];
  }

  /** To be called after each command, before the next. */
  observe(): void {
    try {
      this.hub.observe();
    } catch (error) {
      this.gateway.fail(error);
    }
  }

  /** Registers the path and starts the heartbeats. */
  attach(router: Router): void {
    this.router = router;
    const behavior: WebSocketBehavior<SocketData> = {
      maxPayloadLength: FRAME_BYTES,
      // Slow readers are closed here, with a code, before they use too much memory.
      maxBackpressure: 0,
      // For closed sockets whose client does not read the rest; open ones have heartbeats.
      idleTimeout: 120,
      sendPingsAutomatically: false,
      open: (socket) => {
        const { connection } = socket.getUserData();
        this.upgraded++;
        connection.open(socket);
        this.connections.add(connection);
      },
      message: (socket, bytes, isBinary) => {
        const { connection } = socket.getUserData();
        connection.unansweredPings = 0;
        this.guard(() => this.protocol.receive(connection, bytes, isBinary));
      },
      ping: (socket) => {
        const { connection } = socket.getUserData();
        connection.unansweredPings = 0;
        this.protocol.afford(connection, 1);
      },
      pong: (socket) => {
        socket.getUserData().connection.unansweredPings = 0;
      },
      close: (socket) => this.leave(socket.getUserData().connection),
    };
    router.onUpgrade(PATH, behavior, (response, request, raw, context) => {
      const handshake = new Handshake(this.gateway, { response, request, raw, context });
      handshake.begin((handshake, session) => this.accept(handshake, session));
    });
    const { unsent } = this.gateway;
    router.on('get', PATH, (response) => {
      const error = invalidRequest({ Upgrade: 'must be websocket' });
      writeError(response, error, { unsent, isHead: false });
    });
    router.on('any', PATH, (response, request) => {
      const options = { unsent, isHead: request.method === 'head', header: ALLOW };
      writeError(response, errorAnswer('method_not_allowed'), options);
    });
    this.timer = setInterval(() => this.tick(), this.limits.heartbeatMs / HEARTBEAT_SLOTS);
  }

  /**
   * Cancels the orders of connections with cancelOnDisconnect, because all connections are about to
   * end. To be called while the sequencer still accepts commands, after all other senders have
   * stopped. Resolves when they are cancelled, at the latest after `limitMs`.
   */
  async cancelOrders(limitMs: number): Promise<void> {
    if (this.stopping) return;
    this.stopping = true;
    // A replica's leader cancels them when the replica has left.
    for (const { userId, cancelOnDisconnect } of this.remote === null ? this.connections : []) {
      if (cancelOnDisconnect) this.cancels.add(userId);
    }
    // After a failure, no command is accepted.
    if (this.gateway.sequencer.failure === null) await atMost(limitMs, this.cancels.finish());
    this.cancels.stop();
  }

  /**
   * Closes all connections with 1001, after everything durable was sent, at the latest after
   * `limitMs`. First, orders are cancelled ({@link StreamServer.cancelOrders}), unless that was
   * done before.
   */
  async stop(limitMs: number): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    const untilMs = elapsedMs() + limitMs;
    await this.cancelOrders(limitMs);
    // After a failure, nothing is sent.
    if (this.gateway.sequencer.failure === null) {
      await atMost(untilMs - elapsedMs(), this.allReleased());
      // On a replica, the leader may still have to answer.
      await this.until((connection) => connection.outstanding === 0, untilMs);
    }
    await atMost(untilMs - elapsedMs(), this.protocol.stop());
    const isRead = (connection: Connection) => connection.backlogBytes === 0;
    await this.until(isRead, Math.min(untilMs, elapsedMs() + LAST_READS_MS));
    for (const connection of this.connections) connection.end(CLOSE.goingAway);
  }

  private accept(handshake: Handshake, session: Session | null): void {
    const { connections, limits } = this;
    const { address } = handshake;
    const { streamsPerAddress } = this.gateway.config.connections;
    const mayOpen =
      streamsPerAddress === 0
        ? connections.count < limits.connections
        : connections.mayOpen(address, session?.userId ?? 0, limits.connections);
    if (!mayOpen) {
      const fields = { connections: connections.count };
      this.gateway.warnings.warn(fields, 'a stream connection was refused');
      handshake.refuseUnavailable();
    } else if (streamsPerAddress > 0 && connections.countFrom(address) >= streamsPerAddress) {
      const message = `The address has ${streamsPerAddress} connections, which is the limit.`;
      handshake.refuseLimitReached(message);
    } else if (
      session !== null &&
      connections.countOfUser(session.userId) >= limits.connectionsPerUser
    ) {
      handshake.refuseLimitReached(userLimitMessage(limits));
    } else handshake.accept<SocketData>({ connection: this.connectionFor(handshake, session) });
  }

  private isNewcomer(userId: number): boolean {
    return !this.gateway.sequencer.engine.isEstablished(userId);
  }

  private connectionFor(handshake: Handshake, session: Session | null): Connection {
    const connection = new Connection({
      limits: this.limits,
      backlogs: this.backlogs,
      elapsedMs,
      address: handshake.address,
      addressBytes: handshake.addressBytes,
      slot: this.acceptedCount % HEARTBEAT_SLOTS,
      topic: `connection:${this.acceptedCount++}`,
      publish: (topic, text) => this.publish(topic, text),
      onEnd: ({ reason }) => this.endings.set(reason, (this.endings.get(reason) ?? 0) + 1),
    });
    if (session !== null) connection.signIn(session);
    connection.token = handshake.token;
    return connection;
  }

  /** The clients of a replica, whose orders come here. */
  clientsOf(reply: (frame: Uint8Array) => void): ForwardedClients {
    const { gateway, forwarded } = this;
    return new ClientsOfReplica({
      isStopping: () => gateway.isStopping(),
      reply,
      connect: (number, addressBytes) => this.forwardedConnection(number, addressBytes, reply),
      sessionOf: (token, addressBytes) => {
        const session = gateway.sessions.check(token, gateway.sequencer.engine);
        if (session === 'token_expired') return CLOSE.tokenExpired;
        if (typeof session === 'string') return CLOSE.tokenRevoked;
        return isAllowed(session.allowedAddresses, addressBytes) ? session : CLOSE.tokenRevoked;
      },
      joined: (connection, session) => {
        const isNew = connection.userId === 0;
        connection.signIn(session);
        if (isNew) forwarded.add(connection);
      },
      receive: (connection, bytes) => this.protocol.receive(connection, bytes, false),
      left: (connection) => {
        forwarded.remove(connection);
        if (connection.cancelOnDisconnect && !this.stopping) this.cancels.add(connection.userId);
      },
    });
  }

  private forwardedConnection(
    number: number,
    addressBytes: Uint8Array,
    reply: (frame: Uint8Array) => void,
  ): ForwardedConnection {
    const { sequencer } = this.gateway;
    return new ForwardedConnection({
      limits: this.limits,
      backlogs: this.backlogs,
      elapsedMs,
      address: addressKey(addressBytes.slice().buffer as ArrayBuffer),
      addressBytes,
      slot: 0,
      topic: '',
      publish: () => {},
      onEnd: ({ reason }) => this.endings.set(reason, (this.endings.get(reason) ?? 0) + 1),
      number,
      durableSequence: () => sequencer.durableSequence,
      reply,
    });
  }

  private leave(connection: Connection): void {
    this.connections.remove(connection);
    connection.closed();
    if (this.remote !== null) this.remote.closed(connection);
    else if (connection.cancelOnDisconnect && !this.stopping) this.cancels.add(connection.userId);
  }

  private publish(topic: string, text: string | Uint8Array): void {
    this.router?.publish(topic, text);
    this.uncheckedCharacters += text.length;
    if (this.uncheckedCharacters >= CHECK_AFTER_CHARACTERS) this.checkBacklogs();
  }

  private checkBacklogs(): void {
    this.uncheckedCharacters = 0;
    this.backlogs.check(this.connections);
  }

  private allOfUser(userId: number): Connection[] {
    return [...this.connections.ofUser(userId), ...this.forwarded.ofUser(userId)];
  }

  private endTokens(userId: number, version: number): void {
    for (const connection of this.allOfUser(userId)) {
      if (connection.tokenVersion < version) connection.endWhenAnswered(CLOSE.tokenRevoked);
    }
  }

  /** Ends the connections of sessions whose secret was taken away. */
  endInvalid(): void {
    const { sessions, sequencer } = this.gateway;
    for (const connection of [...this.connections, ...this.forwarded]) {
      const { session } = connection;
      if (session !== null && sessions.faultOf(session, sequencer.engine) !== null)
        connection.endWhenAnswered(CLOSE.tokenRevoked);
    }
  }

  private endToken(userId: number, tokenId: number, reason: CloseReason): void {
    for (const connection of this.allOfUser(userId)) {
      if (connection.session?.tokenId === tokenId) connection.endWhenAnswered(reason);
    }
  }

  private tick(): void {
    this.guard(() => {
      const slot = this.ticks++ % HEARTBEAT_SLOTS;
      for (const connection of this.connections)
        if (connection.slot === slot) this.sendHeartbeat(connection);
      this.checkBacklogs();
      this.hub.forgetIdle(elapsedMs());
    });
  }

  /** Released at the current sequence, so after the messages that it names. */
  private sendHeartbeat(connection: Connection): void {
    if (connection.unansweredPings >= this.limits.unansweredPings) {
      connection.endWhenAnswered(CLOSE.notAnswering);
      return;
    }
    connection.ping();
    const { sequence, atMs: appliedAtMs } = this.hub.stamp;
    const atMs = Math.max(appliedAtMs, this.gateway.clock.nowMs());
    const text = heartbeatText(connection.channels(), { sequence, atMs });
    this.gateway.sequencer.releaseAt(sequence, { release: () => connection.send(text) });
  }

  /** Resolves when everything made so far has been sent. */
  private allReleased(): Promise<void> {
    const { sequencer } = this.gateway;
    return new Promise((resolve) => {
      sequencer.releaseAt(sequencer.engine.sequence, { release: resolve });
    });
  }

  private async until(isDone: (connection: Connection) => boolean, limitMs: number): Promise<void> {
    do await new Promise((resolve) => setTimeout(resolve, 5));
    while (elapsedMs() < limitMs && ![...this.connections].every(isDone));
  }

  /** An exception here is a bug, not the client's fault: the process ends. */
  private guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.gateway.fail(error);
    }
  }
}
