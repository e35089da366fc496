/** The messages between the trading thread and the follower's thread. */

import type { ReaderKey } from '../history/fair-read-scheduler.js';
import type { HistoryReply, HistoryRequest } from '../history/requests.js';
import type { JournalPlace } from '../replication/source.js';
import type { DerivedPart, LogLevel } from './troubles.js';

/** What the trading thread tells the follower's thread when it starts. */
export interface FollowerSettings {
  folder: string;
  journal: JournalPlace;
  /** The most commands, and the most exchange time, between snapshots. */
  snapshotEveryCommands: number;
  snapshotEveryMs: number;
  /** How many days of each asset have a file (history/day-files.ts). */
  dayFiles: number;
  /** The days after which orders and books are pruned from the history; 0 means never. */
  historyDays: number;
}

export interface FollowerData extends FollowerSettings {
  memory: SharedArrayBuffer;
  /** The parts that the previous thread could not build. */
  troubles: ReadonlyMap<DerivedPart, string>;
}

export type ToFollower =
  /** There are durable commands that the follower has not applied. */
  | { kind: 'wake' }
  | { kind: 'read'; id: number; request: HistoryRequest; minSequence: number; readerKey: ReaderKey }
  /** The client has given this read up. */
  | { kind: 'giveUp'; id: number }
  | { kind: 'close' };

export type FromFollower =
  | { kind: 'answer'; id: number; reply: HistoryReply }
  | { kind: 'log'; level: LogLevel; fields: object; message: string }
  /** A snapshot was written and read back; the exchange must journal its hash. */
  | { kind: 'snapshot'; sequence: number; hash: string }
  /** A derived part cannot be built now; null if it can again. */
  | { kind: 'trouble'; part: DerivedPart; problem: string | null }
  /** The journal is damaged, or leads to a different state than the exchange's. No more follows. */
  | { kind: 'disagreement'; sequence: number; message: string };
