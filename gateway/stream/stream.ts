/**
 * The stream, WebSocket /api/stream: its door, its heartbeats and its end. The hub makes the messages, uWebSockets.js hands
 * each to all who are subscribed to its topic, and what a client may say is in protocol.ts.
 *
 * Each connection gets, every 10 s of real time, a heartbeat with the number of the last message of each of its channels, and
 * a WebSocket ping. One that answers no ping, or does not read what it is sent, is closed.
 *
 * A plain HTTP request to the path is answered with 400 `invalid_request`, any other method than GET with 405.
 */
import type { WebSocketBehavior } from 'uWebSockets.js';
import type { Session } from '../auth/sessions.js';
import type { Door } from '../http/door.js';
import { errorAnswer, invalidRequest } from '../http/errors.js';
import type { Gateway } from '../http/gateway.js';
import { writeError } from '../http/write-error.js';
import { elapsedMs } from '../time/clock.js';
import { Backlogs } from './backlogs.js';
import { CancelOnDisconnect } from './cancel-on-disconnect.js';
import type { ChannelKind } from './channels/names.js';
import { Connection, type SocketData } from './connection.js';
import { Connections } from './connections.js';
import { Handshake } from './handshake.js';
import { Hub } from './hub.js';
import { CLOSE, type CloseReason, type StreamLimits } from './limits.js';
import { heartbeatText } from './message-text.js';
import { Protocol, tooManyOfUser } from './protocol.js';

const PATH = '/api/stream';
/** A frame above this ends the connection without a word; what is above the limit of messages and below this gets an error. */
const FRAME_BYTES = 64 * 1024;
/** Connections have their heartbeats at one of so many moments within an interval, not all at once. */
const HEARTBEAT_SLOTS = 10;
/** Characters published after which all readers' backlogs are looked at: how much one may grow unseen. */
const LOOK_AFTER_CHARACTERS = 256 * 1024;
/** How long a stop waits for readers to take what was sent to them. */
const LAST_READS_MS = 500;

export class StreamServer {
  private readonly connections = new Connections();
  private readonly hub: Hub;
  private readonly backlogs: Backlogs;
  /** Connections that were closed, by why. */
  private readonly endings = new Map<string, number>();
  private readonly protocol: Protocol;
  private readonly cancels: CancelOnDisconnect;
  private door: Door | null = null;
  private timer: NodeJS.Timeout | null = null;
  private ticks = 0;
  private charactersUnseen = 0;
  /** Connections ever made. */
  private entered = 0;
  private upgraded = 0;
  private stopping = false;

  constructor(
    private readonly gateway: Gateway,
    private readonly limits: StreamLimits,
  ) {
    const { sequencer } = gateway;
    this.backlogs = new Backlogs(this.limits, elapsedMs);
    this.hub = new Hub({
      engine: sequencer.engine,
      releaseAt: (sequence, target) => sequencer.releaseAt(sequence, target),
      publish: (topic, text) => this.publish(topic, text),
      onTokensEnded: (userId, version) => this.endTokens(userId, version),
      limits: this.limits,
    });
    this.protocol = new Protocol({
      gateway,
      hub: this.hub,
      connections: this.connections,
      limits: this.limits,
      elapsedMs,
    });
    this.cancels = new CancelOnDisconnect(sequencer, gateway.log, gateway.fail);
  }

  /** WebSockets that were ever opened. */
  get upgradedCount(): number {
    return this.upgraded;
  }

  /** Subscriptions of now, by the kind of channel. */
  subscriberCounts(): Record<ChannelKind, number> {
    return this.hub.subscriberCounts();
  }

  get connectionCount(): number {
    return this.connections.count;
  }

  /** Bytes that wait for readers. */
  get backlogBytes(): number {
    return this.backlogs.bytes(this.connections);
  }

  /** Connections that were closed, by why, since the start. */
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

  /** Opens the door, and begins with the heartbeats. */
  attach(door: Door): void {
    this.door = door;
    const behavior: WebSocketBehavior<SocketData> = {
      maxPayloadLength: FRAME_BYTES,
      // Readers that are behind are closed here, with a code, before memory is at risk.
      maxBackpressure: 0,
      // For sockets that were closed and whose reader does not take the rest; open ones have heartbeats.
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
    door.onUpgrade(PATH, behavior, (response, request, context, incoming) => {
      const handshake = new Handshake(this.gateway, { response, request, context, incoming });
      handshake.begin((entering, session) => this.enter(entering, session));
    });
    const { unsent } = this.gateway;
    door.on('get', PATH, (response) => {
      const error = invalidRequest({ Upgrade: 'must be websocket: this is a stream' });
      writeError(response, error, { unsent, isHead: false });
    });
    door.on('any', PATH, (response, request) => {
      const isHead = request.getMethod() === 'head';
      writeError(response, errorAnswer('method_not_allowed'), { unsent, isHead, header: ['Allow', 'GET'] });
    });
    this.timer = setInterval(() => this.tick(), this.limits.heartbeatMs / HEARTBEAT_SLOTS);
  }

  /**
   * Ends all connections with 1001, after everything that is durable was sent to them. Those who wanted their orders cancelled
   * when the connection ends have them cancelled first, and see it. To be called while the sequencer still takes commands,
   * after the last that anybody else sends. Resolves when the connections are closed, at the latest after `limitMs`.
   */
  async stop(limitMs: number): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.stopping = true;
    const untilMs = elapsedMs() + limitMs;
    for (const { userId, cancelOnDisconnect } of this.connections) {
      if (cancelOnDisconnect) this.cancels.add(userId);
    }
    const { sequencer } = this.gateway;
    // After a failure nothing more is taken, and nothing leaves.
    if (sequencer.failure === null) {
      await before(untilMs, this.cancels.finish());
      await before(untilMs, this.allReleased());
    }
    this.cancels.stop();
    await this.readersTake(Math.min(untilMs, elapsedMs() + LAST_READS_MS));
    for (const connection of this.connections) connection.end(CLOSE.goingAway);
  }

  private enter(handshake: Handshake, session: Session | null): void {
    if (this.connections.count >= this.limits.connections) {
      this.gateway.warnings.warn({ connections: this.connections.count }, 'a stream connection was refused');
      handshake.refuseUnavailable();
      return;
    }
    const { streamsPerAddress } = this.gateway.config.connections;
    if (streamsPerAddress > 0 && this.connections.countFrom(handshake.address) >= streamsPerAddress) {
      handshake.refuseMore(
        `There are ${streamsPerAddress} connections from this address, which is the limit.`,
      );
      return;
    }
    if (session !== null && this.connections.countOfUser(session.userId) >= this.limits.connectionsPerUser) {
      handshake.refuseMore(tooManyOfUser(this.limits));
      return;
    }
    const connection = new Connection({
      limits: this.limits,
      backlogs: this.backlogs,
      elapsedMs,
      address: handshake.address,
      slot: this.entered++ % HEARTBEAT_SLOTS,
      onEnd: (why) => this.countEnding(why),
    });
    if (session !== null) {
      connection.userId = session.userId;
      connection.tokenVersion = session.version;
    }
    handshake.accept<SocketData>({ connection });
  }

  private countEnding({ reason }: CloseReason): void {
    this.endings.set(reason, (this.endings.get(reason) ?? 0) + 1);
  }

  private leave(connection: Connection): void {
    this.connections.remove(connection);
    connection.closed();
    if (connection.cancelOnDisconnect && !this.stopping) this.cancels.add(connection.userId);
  }

  private publish(topic: string, text: string): void {
    this.door?.publish(topic, text);
    this.charactersUnseen += text.length;
    if (this.charactersUnseen >= LOOK_AFTER_CHARACTERS) this.checkBacklogs();
  }

  private checkBacklogs(): void {
    this.charactersUnseen = 0;
    this.backlogs.check(this.connections);
  }

  private endTokens(userId: number, version: number): void {
    for (const connection of this.connections.ofUser(userId)) {
      if (connection.tokenVersion < version) connection.end(CLOSE.tokenRevoked);
    }
  }

  private tick(): void {
    this.guard(() => {
      const slot = this.ticks++ % HEARTBEAT_SLOTS;
      for (const connection of this.connections) if (connection.slot === slot) this.beat(connection);
      this.checkBacklogs();
      this.hub.rest(elapsedMs());
    });
  }

  /** The numbers are those of now, so the heartbeat leaves after the messages that bear them. */
  private beat(connection: Connection): void {
    if (connection.unansweredPings >= this.limits.unansweredPings) {
      connection.end(CLOSE.notAnswering);
      return;
    }
    connection.ping();
    const { sequence, atMs: appliedAtMs } = this.hub.stamp;
    const atMs = Math.max(appliedAtMs, this.gateway.clock.nowMs());
    const text = heartbeatText(connection.channels(), { sequence, atMs });
    this.gateway.sequencer.releaseAt(sequence, { release: () => connection.send(text) });
  }

  /** Resolves when all that was made so far has left. */
  private allReleased(): Promise<void> {
    const { sequencer } = this.gateway;
    return new Promise((resolve) => {
      sequencer.releaseAt(sequencer.engine.sequence, { release: resolve });
    });
  }

  private async readersTake(untilMs: number): Promise<void> {
    const isBehind = (connection: Connection) => connection.backlogBytes > 0;
    do await new Promise((resolve) => setTimeout(resolve, 5));
    while (elapsedMs() < untilMs && [...this.connections].some(isBehind));
  }

  /** What throws here is a bug, not the client's fault: the process ends. */
  private guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.gateway.fail(error);
    }
  }
}

/** Waits for the work, but not for longer than until `untilMs`. */
async function before(untilMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, untilMs - elapsedMs());
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
