/** What the trading thread and the thread that replays the journal say to each other. */
import type { JournalPlace } from '../../../persistence/replication/source.js';

/** An account whose messages after sequence `after` are wanted. */
export interface ReplayWish {
  userId: number;
  after: number;
}

export interface ReplayTask {
  /** The data folder, for its snapshots. */
  folder: string;
  journal: JournalPlace;
  wishes: ReplayWish[];
  /** The last sequence of the replay, which is durable. */
  through: number;
  /** The most commands that are executed. */
  commandsMax: number;
  /** Characters of the messages of one account. */
  charactersMax: number;
  /** Shared: 1 when the replay is to end early, without an answer. */
  stopped: Int32Array;
}

/**
 * For each wish, in order: the messages; or null, because there are too many commands or characters
 * after it, or because what it needs of the journal is in an archive.
 */
export type ReplayAnswer = (string[] | null)[];
