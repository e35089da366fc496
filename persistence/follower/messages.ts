/** What the trading thread and the follower's thread send each other. */
import type { HistoryOutcome, HistoryRequest } from '../history/requests.js';

/** What the follower is started with. */
export interface FollowerData {
  /** The data folder. */
  folder: string;
  /** FollowerBoard's. */
  memory: SharedArrayBuffer;
  snapshotEveryCommands: number;
  snapshotEveryMs: number;
}

export type ToFollower =
  /** Something is durable that the follower has not seen. */
  | { kind: 'wake' }
  | { kind: 'read'; id: number; request: HistoryRequest; minSequence: number }
  | { kind: 'close' };

export type LogLevel = 'info' | 'warn' | 'error';

export type FromFollower =
  | { kind: 'answer'; id: number; outcome: HistoryOutcome }
  | { kind: 'log'; level: LogLevel; fields: object; message: string }
  /** It cannot go on now, and tries again; null: it goes on. */
  | { kind: 'trouble'; problem: string | null }
  /** The follower has stopped for good: the journal, or what it leads to, is not what the exchange says it is. */
  | { kind: 'disagreement'; sequence: number; message: string };

/** Where parts of the follower say what they do. */
export interface FollowerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
