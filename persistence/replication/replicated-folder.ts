/**
 * The data folder of an exchange whose journal is on PostgreSQL: it has no journal. Snapshots and
 * the history can be made again from the journal; the secret of the sessions cannot.
 *
 * Invariant: the engine follows the journal until this process leads, so that the engine can be
 * checked first. Once the epoch is replicated, what is in the journal cannot be lost, and the
 * engine applies the rest. Nothing is written to the journal before that.
 */
import type { Engine } from '../../engine/engine.js';
import { JournalError } from '../journal/errors.js';
import { type FolderLock, lockFolder } from '../journal/folder-lock.js';
import { listSegments } from '../journal/segments.js';
import type { CommitLog } from '../journal/store.js';
import { type RecoveryLog, recoverFromSnapshot, type StartOptions } from '../recovery/recovery.js';
import { createPrivateFolder } from '../storage/files.js';
import { JournalTail } from './journal-tail.js';
import { PostgresJournal, type PostgresJournalOptions } from './postgres/postgres-journal.js';

export interface ReplicatedFolderOptions extends PostgresJournalOptions {
  folder: string;
  onLost: (error: Error) => void;
}

/** @throws JournalError for a folder with a journal of its own, or in use. */
export async function lockReplicatedFolder(folder: string): Promise<FolderLock> {
  await createPrivateFolder(folder);
  // The first segments may be in an archive.
  if (listSegments(folder).length > 0) {
    throw new JournalError(
      `the data folder ${folder} has a journal of its own, which would be ignored. Use another ` +
        'folder, or start without JOURNAL.',
      null,
    );
  }
  return lockFolder(folder);
}

export class ReplicatedFolder {
  /** There is nothing unusual to tell the operator. */
  readonly notice = null;
  readonly remark = null;
  readonly damage = null;
  readonly isNew: boolean;
  private isHeld = true;

  private constructor(
    private readonly options: ReplicatedFolderOptions,
    private readonly folderLock: FolderLock,
    /** What this process writes to the journal, and reads there as the leader. */
    readonly leader: PostgresJournal,
    /** The tail that was followed until it led; null if there was no journal. */
    private readonly tail: JournalTail | null,
  ) {
    this.isNew = leader.end.sequence === 0;
  }

  /** @param options.followed gets the engine at the journal's end, and after each further batch */
  static async lock(
    options: ReplicatedFolderOptions & {
      log: RecoveryLog;
      elapsedMs: () => number;
      followed: (engine: Engine) => void;
    },
  ): Promise<ReplicatedFolder> {
    const { folder, address, followed, onLost } = options;
    const folderLock = await lockReplicatedFolder(folder);
    let tail: JournalTail | null = null;
    try {
      if (await PostgresJournal.exists(address)) {
        const open = await JournalTail.open(options);
        tail = open;
        followed(open.engine);
        open.start({ batchApplied: () => followed(open.engine), onFatal: onLost });
      }
      const journal = await PostgresJournal.takeOver(options);
      return ReplicatedFolder.leading(options, folderLock, journal, tail);
    } catch (error) {
      await tail?.close();
      await folderLock.release();
      throw error;
    }
  }

  static leading(
    options: ReplicatedFolderOptions,
    folderLock: FolderLock,
    journal: PostgresJournal,
    tail: JournalTail | null,
  ): ReplicatedFolder {
    journal.whenLost(options.onLost);
    return new ReplicatedFolder(options, folderLock, journal, tail);
  }

  async recover(options: StartOptions): Promise<Engine> {
    const { folder } = this.options;
    const { tail } = this;
    const reader = this.leader.source;
    if (tail === null) return (await recoverFromSnapshot({ ...options, folder, reader })).engine;
    options.makeRoom?.(tail.engine);
    await tail.finish(reader);
    return tail.engine;
  }

  /** Called once. The folder's lock is released when the journal is closed. */
  openJournal(): Promise<CommitLog> {
    const { leader: journal } = this;
    const release = () => this.release();
    return Promise.resolve({
      get end() {
        return journal.end;
      },
      append: (batch, done) => journal.append(batch, done),
      isSole: () => journal.isSole(),
      whenSole: (again) => journal.whenSole(again),
      close: release,
    });
  }

  async release(): Promise<void> {
    if (!this.isHeld) return;
    this.isHeld = false;
    try {
      await this.leader.close();
    } finally {
      await this.folderLock.release();
    }
  }
}
