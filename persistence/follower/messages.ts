/** The messages between the trading thread and the follower's thread. */

import type { Reader } from '../history/read-turns.js';
import type { HistoryReply, HistoryRequest } from '../history/requests.js';
import type { JournalPlace } from '../replication/source.js';
import type { DerivedPart, LogLevel } from './troubles.js';

export interface FollowerData {
  folder: string;
  journal: JournalPlace;
  memory: SharedArrayBuffer;
  snapshotEveryCommands: number;
  snapshotEveryMs: number;
  dayFiles: number;
  historyDays: number;
  /** The parts that the previous thread could not build. */
  troubles: ReadonlyMap<DerivedPart, string>;
}

export type ToFollower =
  /** There are durable commands that the follower has not applied. */
  | { kind: 'wake' }
  | { kind: 'read'; id: number; request: HistoryRequest; minSequence: number; reader: Reader }
  /** The client has given this read up. */
  | { kind: 'giveUp'; id: number }
  | { kind: 'close' };

export type FromFollower =
  | { kind: 'answer'; id: number; reply: HistoryReply }
  | { kind: 'log'; level: LogLevel; fields: object; message: string }
  /** A step of the thread's startup has ended; the trading thread measures its time. */
  | { kind: 'step'; step: string; fields: object }
  /** A snapshot was written and read back; the exchange must journal its hash. */
  | { kind: 'snapshot'; sequence: number; hash: string }
  /** A derived part cannot be built now; null if it can again. */
  | { kind: 'trouble'; part: DerivedPart; problem: string | null }
  /** The journal is damaged, or leads to a different state than the exchange's. No more follows. */
  | { kind: 'disagreement'; sequence: number; message: string };
