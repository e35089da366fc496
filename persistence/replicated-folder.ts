/**
 * The data folder of an exchange whose journal is on PostgreSQL: it has snapshots, the history and
 * the secret of the sessions, all of which can be made again from the journal, and no journal.
 *
 * Always holds: the engine is rebuilt only after this process leads and its epoch is replicated, so
 * what it reads can not be lost any more; nothing is written to the journal before that.
 */
import type { Engine } from '../engine/engine.js';
import { JournalError } from './journal/errors.js';
import { type FolderLock, lockFolder } from './journal/folder-lock.js';
import {
  PostgresJournal,
  type PostgresJournalOptions,
} from './journal/postgres/postgres-journal.js';
import { listSegments } from './journal/segments.js';
import { openSource } from './journal/source.js';
import type { CommitLog } from './journal/store.js';
import { type RecoveryLog, recoverFromSnapshot } from './recovery.js';
import { createPrivateFolder } from './storage/files.js';

export interface ReplicatedFolderOptions extends PostgresJournalOptions {
  folder: string;
  /** Called once, when this process no longer leads, or can no longer know; it must end. */
  onLost: (error: Error) => void;
}

export class ReplicatedFolder {
  /** The operator need not know anything about it. */
  readonly notice = null;
  private isHeld = true;

  private constructor(
    private readonly options: ReplicatedFolderOptions,
    private readonly folderLock: FolderLock,
    private readonly journal: PostgresJournal,
  ) {}

  /**
   * Locks the folder and becomes the journal's leader, as soon as there is no other.
   * @throws JournalError, JournalUnavailable
   */
  static async lock(options: ReplicatedFolderOptions): Promise<ReplicatedFolder> {
    const { folder } = options;
    await createPrivateFolder(folder);
    // The first segments may be in an archive.
    if (listSegments(folder).length > 0) {
      throw new JournalError(
        `the data folder ${folder} has a journal of its own, which would be ignored. Use another ` +
          'folder, or start without JOURNAL.',
        null,
      );
    }
    const folderLock = await lockFolder(folder);
    try {
      const journal = await PostgresJournal.takeOver(options);
      journal.whenLost(options.onLost);
      return new ReplicatedFolder(options, folderLock, journal);
    } catch (error) {
      await folderLock.release();
      throw error;
    }
  }

  /** The engine at the end of the journal. @throws JournalError */
  async recover(options: { log: RecoveryLog; elapsedMs: () => number }): Promise<Engine> {
    const { folder, address } = this.options;
    const reader = await openSource({ postgres: address });
    try {
      return (await recoverFromSnapshot({ ...options, folder, reader })).engine;
    } finally {
      await reader.close();
    }
  }

  /** Called once. The folder's lock is released when the journal is closed. */
  openJournal(): Promise<CommitLog> {
    const { journal } = this;
    const release = () => this.release();
    return Promise.resolve({
      get end() {
        return journal.end;
      },
      append: (batch, done) => journal.append(batch, done),
      close: release,
    });
  }

  /** Says in the journal where this leader takes the requests of gateways, as `host:port`. */
  advertise(address: string): void {
    this.journal.advertise(address);
  }

  async release(): Promise<void> {
    if (!this.isHeld) return;
    this.isHeld = false;
    try {
      await this.journal.close();
    } finally {
      await this.folderLock.release();
    }
  }
}
