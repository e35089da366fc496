/**
 * The stream, WebSocket /api/stream: connections, heartbeats and shutdown. The hub builds the
 * messages, uWebSockets.js sends each one to its topic's subscribers, and protocol.ts handles
 * client messages.
 *
 * A heartbeat is a WebSocket ping, and the number of the last message of each channel. A connection
 * that answers no pings, or does not read, is closed.
 */
import type { WebSocketBehavior } from 'uWebSockets.js';
import { type ErrorAnswer, errorAnswer, UNAVAILABLE } from '../commands/errors.js';
import { identify, type Sender } from '../commands/intake.js';
import { writeError } from '../http/answers/write-error.js';
import type { Gateway } from '../http/gateway.js';
import type { Router } from '../http/router.js';
import { atMost, elapsedMs } from '../observe/clock.js';
import { type BacklogReadings, Backlogs } from './backlogs.js';
import { CancelOnDisconnect } from './cancel-on-disconnect.js';
import { heartbeatText, sessionEndingText } from './channels/message-text.js';
import { Connection, type Socket, type SocketData } from './connection.js';
import { Connections } from './connections.js';
import { SOCKET_BEHAVIOR, STREAM_PATH, serveNoUpgrade } from './endpoint.js';
import {
  admitStream,
  refusal,
  type StreamRefusal,
  type StreamRequest,
  streamRequest,
} from './handshake.js';
import { type ChannelKind, Hub } from './hub.js';
import { CLOSE, type CloseReason, type StreamLimits } from './limits.js';
import type { OrderEntry, OrdersElsewhere } from './orders/order-entry.js';
import { partsOf } from './parts.js';
import { Protocol, userLimitMessage } from './protocol.js';

/** Heartbeats are spread over this many slots of an interval. */
const HEARTBEAT_SLOTS = 10;
/** Backlogs are checked each time this many characters were published. */
const CHECK_AFTER_CHARACTERS = 256 * 1024;
/** How long shutdown waits for clients to read the last messages. */
const LAST_READS_MS = 500;

export class StreamServer {
  private readonly connections = new Connections(
    (userId) => !this.gateway.sequencer.engine.isEstablished(userId),
    (userId) => this.parentOf(userId),
  );
  /** Connections of replicas' clients that enter orders here. Their replicas count them. */
  private readonly forwarded = new Connections(
    () => false,
    (userId) => this.parentOf(userId),
  );
  private readonly hub: Hub;
  private readonly backlogs: Backlogs;
  private readonly endings = new Map<string, number>();
  /** Connections cut off by an edge's backlog limit. */
  private edgeCutOffs = 0;
  private atEdges = (): BacklogReadings => ({ backlogBytes: 0, cutOffCount: 0 });
  private readonly protocol: Protocol;
  private readonly cancels: CancelOnDisconnect;
  private readonly publishers = new Set<(topic: string, text: string | Uint8Array) => void>();
  private timer: NodeJS.Timeout | null = null;
  private ticks = 0;
  private uncheckedCharacters = 0;
  private acceptedCount = 0;
  private upgraded = 0;
  private stopping = false;

  constructor(
    private readonly gateway: Gateway,
    private readonly limits: StreamLimits,
    /** Forwards orders to the leader on a replica. Otherwise `null`. */
    private readonly remote: OrdersElsewhere | null = null,
  ) {
    const { sequencer } = gateway;
    this.backlogs = new Backlogs(this.limits, elapsedMs);
    this.hub = new Hub({
      engine: sequencer.engine,
      releaseAt: (sequence, target) => sequencer.releaseAt(sequence, target),
      publish: (topic, text) => this.publish(topic, text),
      onTokensEnded: (userId, version) => this.endTokens(userId, version),
      onTokenEnded: (userId, tokenId, reason) => this.endToken(userId, tokenId, reason),
      onRateTier: (userId, tier) => gateway.fairUse.setTier(userId, tier),
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

  get upgradedCount(): number {
    return this.upgraded;
  }

  get connectionCount(): number {
    return this.connections.count;
  }

  subscriberCounts(): Record<ChannelKind, number> {
    return this.hub.subscriberCounts();
  }

  get backlogBytes(): number {
    return this.backlogs.bytes(this.connections) + this.atEdges().backlogBytes;
  }

  get keptCharacters(): number {
    return this.hub.keptCharacters;
  }

  get replays(): { readonly waitingCount: number; readonly heldBytes: number } {
    return this.protocol.resumes.replays;
  }

  *endingCounts(): Generator<readonly [reason: string, count: number]> {
    yield* this.endings;
    const cutOffs = this.backlogs.cutOffCount + this.atEdges().cutOffCount + this.edgeCutOffs;
    yield ['cut_off', cutOffs];
  }

  /** Adds the backlogs of edges, which hold this process's sockets and limit them. */
  addBacklogs(atEdges: () => BacklogReadings): void {
    this.atEdges = atEdges;
  }

  /** Call after each command, before the next. */
  observe(): void {
    try {
      this.hub.observe();
    } catch (error) {
      this.gateway.fail(error);
    }
  }

  attach(router: Router): void {
    const { unsent } = this.gateway;
    this.publishTo((topic, text) => router.publish(topic, text));
    const behavior: WebSocketBehavior<SocketData> = {
      ...SOCKET_BEHAVIOR,
      open: (socket) => this.opened(socket.getUserData().connection, socket),
      message: (socket, bytes, isBinary) =>
        this.receive(socket.getUserData().connection, bytes, isBinary),
      ping: (socket) => this.controlled(socket.getUserData().connection),
      pong: (socket) => this.controlled(socket.getUserData().connection),
      drain: (socket) => this.drained(socket.getUserData().connection),
      close: (socket) => this.left(socket.getUserData().connection),
    };
    router.onUpgrade(STREAM_PATH, behavior, (response, request, raw, context) => {
      const asked = streamRequest(request, response, this.gateway.config.siteOrigins);
      const accepted = this.accept(asked);
      if (accepted instanceof Connection) {
        const key = raw.getHeader('sec-websocket-key');
        const extensions = raw.getHeader('sec-websocket-extensions');
        // Tells the client, by an empty choice, that no subprotocol is supported.
        response.upgrade<SocketData>({ connection: accepted }, key, '', extensions, context);
        return;
      }
      let hasLeft = false;
      response.onAborted(() => {
        hasLeft = true;
      });
      this.whenDurable(() => {
        const { error, header } = accepted;
        const options = { unsent, isHead: false, header };
        if (!hasLeft) response.cork(() => writeError(response, error, options));
      });
    });
    serveNoUpgrade(router, this.gateway);
  }

  start(): void {
    this.timer = setInterval(() => this.tick(), this.limits.heartbeatMs / HEARTBEAT_SLOTS);
  }

  /** Call at shutdown, while the sequencer accepts commands, after other senders have stopped. */
  async cancelOrders(limitMs: number): Promise<void> {
    if (this.stopping) return;
    this.stopping = true;
    // For a replica's clients, the leader cancels when the replica disconnects.
    for (const { userId, cancelOnDisconnect } of this.remote === null ? this.connections : []) {
      if (cancelOnDisconnect) this.cancels.add(userId);
    }
    // After a failure, the sequencer accepts no commands.
    if (this.gateway.sequencer.failure === null) await atMost(limitMs, this.cancels.finish());
    this.cancels.stop();
  }

  /** Closes all connections once everything durable was sent, at the latest after `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    const untilMs = elapsedMs() + limitMs;
    await this.cancelOrders(limitMs);
    if (this.gateway.sequencer.failure === null) {
      const released = new Promise<void>((resolve) => this.whenDurable(resolve));
      await atMost(untilMs - elapsedMs(), released);
      // On a replica, the leader may still owe answers.
      await this.until((connection) => connection.outstanding === 0, untilMs);
    }
    await atMost(untilMs - elapsedMs(), this.protocol.stop());
    const isRead = (connection: Connection) => connection.backlogBytes === 0;
    await this.until(isRead, Math.min(untilMs, elapsedMs() + LAST_READS_MS));
    for (const connection of this.connections) connection.end(CLOSE.goingAway);
  }

  /** `hasTopics` is false if the socket itself batches one turn's messages. */
  accept(asked: StreamRequest, hasTopics = true): Connection | StreamRefusal {
    const { connections, limits, gateway } = this;
    const { address } = asked;
    const admitted = admitStream(gateway, asked);
    if ('error' in admitted) return admitted;
    const { session } = admitted;
    const { streamsPerAddress } = gateway.config.connections;
    const mayOpen =
      streamsPerAddress === 0
        ? connections.count < limits.connections
        : connections.mayOpen(address, session?.userId ?? 0, limits.connections);
    if (!mayOpen) {
      const fields = { connections: connections.count };
      gateway.warnings.warn(fields, 'a stream connection was refused');
      return refusal(UNAVAILABLE);
    }
    if (streamsPerAddress > 0 && connections.countFrom(address) >= streamsPerAddress)
      return limitReached(
        'streamsPerAddress',
        `The address has ${streamsPerAddress} connections, which is the limit.`,
      );
    if (session !== null && connections.countOfFamily(session.userId) >= limits.connectionsPerUser)
      return limitReached('streamsPerUser', userLimitMessage(limits));
    const connection = this.connectionOf(asked, hasTopics);
    if (session !== null) connection.signIn(session);
    connection.token = asked.token;
    return connection;
  }

  opened(connection: Connection, socket: Socket): void {
    this.upgraded++;
    connection.open(socket);
    this.connections.add(connection);
  }

  receive(connection: Connection, bytes: ArrayBuffer, isBinary: boolean): void {
    connection.unansweredPings = 0;
    this.guard(() => this.protocol.receive(connection, bytes, isBinary));
  }

  drained(connection: Connection): void {
    this.guard(() => connection.drained());
  }

  get orders(): OrderEntry {
    return this.protocol.orders;
  }

  /** Calls `refuse` once earlier messages are durable, unless the connection exceeds its rate. */
  whenAfforded(
    connection: Connection,
    error: ErrorAnswer,
    units: number,
    refuse: () => void,
  ): void {
    if (this.protocol.affordRefusal(connection, error, units)) this.whenDurable(refuse);
  }

  private controlled(connection: Connection): void {
    this.heardFrom(connection);
    this.protocol.afford(connection, 1);
  }

  heardFrom(connection: Connection): void {
    connection.unansweredPings = 0;
  }

  /** Call when an edge's client exceeds its rate. The edge forwards nothing more. */
  exceeded(connection: Connection): void {
    this.guard(() => this.protocol.exceeded(connection));
  }

  cutOff(connection: Connection): void {
    this.edgeCutOffs++;
    connection.cutOff();
  }

  /** Call when a connection's socket has closed. `by` is the reason if an edge closed it. */
  left(connection: Connection, by: CloseReason | null = null): void {
    if (by !== null) this.countEnding(by);
    this.connections.remove(connection);
    connection.closed();
    if (this.remote !== null) this.remote.closed(connection);
    else this.cancelOrdersOf(connection);
  }

  /** For a replica's client that enters orders or signs in again. `known`: its connection here. */
  join(
    known: Connection | null,
    asked: Omit<StreamRequest, 'isCrossSite'>,
    cancelOnDisconnect: boolean,
  ): Connection | CloseReason {
    const session = identify(this.gateway, asked, asked.token, 'read');
    if (session === 'token_expired') return CLOSE.tokenExpired;
    if (typeof session === 'string' || 'status' in session) return CLOSE.tokenRevoked;
    if (known !== null && known.userId !== session.userId) return CLOSE.tokenRevoked;
    const connection = known ?? this.connectionOf(asked, false);
    connection.cancelOnDisconnect = cancelOnDisconnect;
    connection.signIn(session);
    if (known === null) this.forwarded.add(connection);
    return connection;
  }

  parted(connection: Connection): void {
    this.forwarded.remove(connection);
    connection.closed();
    this.cancelOrdersOf(connection);
  }

  /** Publishes all further messages to `there`. Returns a function that stops this. */
  publishTo(there: (topic: string, text: string | Uint8Array) => void): () => void {
    this.publishers.add(there);
    return () => this.publishers.delete(there);
  }

  whenDurable(release: () => void): void {
    const { sequencer } = this.gateway;
    sequencer.releaseAt(sequencer.engine.sequence, { release });
  }

  private cancelOrdersOf({ cancelOnDisconnect, userId }: Connection): void {
    if (cancelOnDisconnect && !this.stopping) this.cancels.add(userId);
  }

  private parentOf(userId: number): number {
    return this.gateway.sequencer.engine.payer(userId);
  }

  private connectionOf({ address, addressBytes }: Sender, hasTopics: boolean): Connection {
    return new Connection({
      limits: this.limits,
      backlogs: this.backlogs,
      elapsedMs,
      address,
      addressBytes,
      slot: this.acceptedCount % HEARTBEAT_SLOTS,
      topic: `connection:${this.acceptedCount++}`,
      publish: hasTopics ? (topic, text) => this.publish(topic, text) : null,
      onEnd: (reason) => this.countEnding(reason),
    });
  }

  private countEnding({ reason }: CloseReason): void {
    this.endings.set(reason, (this.endings.get(reason) ?? 0) + 1);
  }

  private publish(topic: string, text: string | Uint8Array): void {
    for (const part of partsOf(text))
      for (const publishThere of this.publishers) publishThere(topic, part);
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

  /** Closes connections whose session is no longer valid, after a secret was removed. */
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

  /** Released at the current sequence, so after the channel messages that it numbers. */
  private sendHeartbeat(connection: Connection): void {
    if (connection.unansweredPings >= this.limits.unansweredPings) {
      connection.endWhenAnswered(CLOSE.notAnswering);
      return;
    }
    connection.ping();
    const { sequence, atMs: appliedAtMs } = this.hub.stamp;
    const atMs = Math.max(appliedAtMs, this.gateway.clock.nowMs());
    const texts = [heartbeatText(connection.channels(), { sequence, atMs })];
    const endsAtMs = connection.session?.expiresAtMs ?? null;
    if (this.mustWarn(connection, endsAtMs, atMs)) {
      connection.isWarned = true;
      texts.push(sessionEndingText(endsAtMs!, { sequence, atMs }));
    }
    const release = () => {
      for (const text of texts) connection.send(text);
    };
    this.gateway.sequencer.releaseAt(sequence, { release });
  }

  private mustWarn({ isWarned }: Connection, endsAtMs: number | null, atMs: number): boolean {
    return !isWarned && endsAtMs !== null && endsAtMs - atMs <= this.limits.sessionWarningMs;
  }

  private async until(isDone: (connection: Connection) => boolean, limitMs: number): Promise<void> {
    do await new Promise((resolve) => setTimeout(resolve, 5));
    while (elapsedMs() < limitMs && ![...this.connections].every(isDone));
  }

  /** An exception here is a bug, not the client's fault, and stops the process. */
  private guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.gateway.fail(error);
    }
  }
}

function limitReached(limit: string, message: string): StreamRefusal {
  return refusal(errorAnswer('limit_reached', { limit }, message));
}
