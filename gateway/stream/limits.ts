/**
 * The limits of the stream, and the codes with which it closes a connection. All in one place, so that a client's author and an
 * operator can read them off; tests set smaller ones.
 */

export interface StreamLimits {
  /** Connections at a time; one more is refused with 503 `unavailable`. */
  connections: number;
  /** Connections of one user; one more is refused with `limit_reached`. Those of one address are configured. */
  connectionsPerUser: number;
  /** Bytes of one message of a client; a larger one is answered with `body_too_large`. */
  messageBytes: number;
  /** Channels that one connection is subscribed to; one more is answered with `limit_reached`. */
  subscriptions: number;
  /**
   * What a connection may ask for: a message costs 1, a message that names several channels 1 for each. So many at once, and
   * so many per second in the long run; beyond that it is told `rate_limited` and closed.
   */
  operationsBurst: number;
  operationsPerSecond: number;
  /** Real milliseconds between two heartbeats of a connection. */
  heartbeatMs: number;
  /** Pings, one with each heartbeat, that may be left unanswered before the connection counts as lost. */
  unansweredPings: number;
  /** Bytes that may wait for a reader. One that is further behind is closed. */
  backlogBytes: number;
  /** Bytes that may wait for all readers together. Beyond that those that are furthest behind are cut off, without a code. */
  backlogBytesInAll: number;
  /** Messages that a channel keeps for `resume`, and their characters. */
  keptMessages: number;
  keptCharacters: number;
  /** Characters that all channels together keep; beyond that, each new message pushes out more than its own size. */
  keptCharactersInAll: number;
  /** Real milliseconds for which a channel goes on keeping messages after its last subscriber has left. */
  keptMs: number;
}

export const STREAM_LIMITS: StreamLimits = {
  connections: 10_000,
  connectionsPerUser: 100,
  messageBytes: 4_096,
  subscriptions: 100,
  operationsBurst: 100,
  operationsPerSecond: 20,
  heartbeatMs: 10_000,
  unansweredPings: 3,
  backlogBytes: 4 * 1024 * 1024,
  backlogBytesInAll: 512 * 1024 * 1024,
  keptMessages: 1_000,
  keptCharacters: 1024 * 1024,
  keptCharactersInAll: 256 * 1024 * 1024,
  keptMs: 120_000,
};

/**
 * Why the server closed a connection. Apart from these a client sees 1006 (no code at all): for a frame that is no
 * WebSocket frame, is not UTF-8 or is larger than 64 KiB; when the exchange was killed; and when it does not read what waited for
 * it, and the code behind that, within some ten seconds.
 */
export const CLOSE = {
  /** The exchange stops. Connect again, and resume. */
  goingAway: { code: 1001, reason: 'going_away' },
  /** The credentials changed, so the token has ended. Sign in again. */
  tokenRevoked: { code: 4001, reason: 'token_revoked' },
  /** The reader was too far behind. Connect again, and resume. */
  slowReader: { code: 4008, reason: 'slow_reader' },
  /** Pings were not answered. */
  notAnswering: { code: 4010, reason: 'not_answering' },
  /** The client sent too much. */
  rateLimited: { code: 4029, reason: 'rate_limited' },
} as const;
export type CloseReason = (typeof CLOSE)[keyof typeof CLOSE];
