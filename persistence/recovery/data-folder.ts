/**
 * A data folder that this process alone holds: locked, judged, recovered from, then written to.
 *
 * Always holds: nothing in the folder is changed before {@link DataFolder.openJournal}, except that
 * what a killed process wrote is synced before it counts as committed. The judgement leaves no
 * trace: closing a connection that can write would fold journal.db-wal into journal.db and drop a
 * torn end.
 */
import { constants, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Engine } from '../../engine/engine.js';
import type { JournalError } from '../journal/errors.js';
import { type FolderLock, hasLock, LOCK_FILE, lockFolder } from '../journal/folder-lock.js';
import { HEAD_FILE } from '../journal/format.js';
import { type FoundJournal, Journal, type JournalOptions } from '../journal/journal.js';
import type { Durability } from '../journal/open-segment.js';
import { readJournal } from '../journal/read-only.js';
import type { JournalReader } from '../journal/reader.js';
import { listSegments } from '../journal/segments.js';
import { createPrivateFolder, mayUse, syncPath } from '../storage/files.js';
import { SECRET_FILE } from '../storage/session-secret.js';
import { judgeFolder } from './judgement.js';
import { recoverFromSnapshot, type StartOptions } from './recovery.js';
import { listSnapshots } from './snapshot/folder.js';

/** In a mode: the group or everybody may write. */
const OTHERS_WRITE = 0o022;

export interface DataFolderOptions {
  /** Created (mode 0700) if there is none. */
  folder: string;
  durability?: Durability;
  /**
   * Treat a journal without journal.head as complete. Default false: its end may be missing, as in
   * a copy of journal.db made without journal.db-wal.
   */
  acceptMissingMark?: boolean;
  /** Go on with a copy that was interrupted. */
  acceptUnfinished?: boolean;
  /** The size at which a segment of the journal is full. Default: 1 GiB. */
  segmentBytes?: number | undefined;
  /** Called when somebody has removed or replaced a file of the journal: the process must end. */
  onLost?: ((error: JournalError) => void) | undefined;
  log?: JournalOptions['log'];
}

/**
 * Opens a folder's journal, or creates one; the lock is held until the journal is closed.
 * @throws JournalError when the folder is in use or refused; then nothing has been changed.
 */
export async function openJournal(options: DataFolderOptions): Promise<Journal> {
  const data = await DataFolder.lock(options);
  try {
    return await data.openJournal();
  } catch (error) {
    await data.release();
    throw error;
  }
}

/**
 * Whether this user may use all that a start needs. It does not need the history.
 * @throws the operating system's error, with what the operator can do
 */
export function mustBeUsable(folder: string): void {
  mayUse(folder);
  const segments = listSegments(folder);
  const read = [...segments, ...listSnapshots(folder), { path: join(folder, SECRET_FILE) }];
  for (const { path } of read) mayUse(path, constants.R_OK);
  for (const name of [LOCK_FILE, HEAD_FILE, 'snapshots']) mayUse(join(folder, name));
  const last = segments.at(-1);
  if (last !== undefined) for (const suffix of ['', '-wal', '-shm']) mayUse(last.path + suffix);
}

export class DataFolder {
  private isLocked = true;

  private constructor(
    private readonly options: DataFolderOptions,
    private readonly folderLock: FolderLock,
    private readonly found: FoundJournal,
  ) {}

  /** @throws JournalError when the folder is in use or refused; it is then unchanged. */
  static async lock(options: DataFolderOptions): Promise<DataFolder> {
    const { folder, acceptMissingMark = false, acceptUnfinished = false } = options;
    const judge = () => judgeFolder(folder, { acceptMissingMark, acceptUnfinished });
    await createPrivateFolder(folder);
    // Without a lock file the folder is not in use. If it is refused, no lock file is created.
    if (!hasLock(folder)) await judge();
    const folderLock = await lockFolder(folder);
    try {
      for (const { path } of listSegments(folder))
        if (existsSync(`${path}-wal`)) await syncPath(`${path}-wal`);
      return new DataFolder(options, folderLock, await judge());
    } catch (error) {
      await folderLock.release();
      throw error;
    }
  }

  /** What the operator should know about the folder; null: it was as the exchange left it. */
  get notice(): string | null {
    const { folder } = this.options;
    const { notice } = this.found;
    if ((statSync(folder).mode & OTHERS_WRITE) === 0) return notice;
    const open = `others than its owner may change the data folder: chmod 700 ${folder}`;
    return notice === null ? open : `${notice}; ${open}`;
  }

  /** What is normal, and yet worth a line in the log. */
  get remark(): string | null {
    return this.found.remark;
  }

  /** There was no journal, and the first commit creates one. */
  get isNew(): boolean {
    return this.found.isNew;
  }

  /** What is damaged in a part of the journal that a start does not need; null: nothing. */
  get damage(): string | null {
    return this.found.damage;
  }

  /**
   * The engine at the end of the journal. Called before {@link openJournal}.
   * @throws JournalError when the journal does not lead to the state that the exchange had.
   */
  async recover(options: StartOptions): Promise<Engine> {
    if (this.found.isNew) {
      const engine = new Engine();
      options.makeRoom?.(engine);
      return engine;
    }
    const { folder } = this.options;
    const recover = (reader: JournalReader) => recoverFromSnapshot({ ...options, folder, reader });
    return (await readJournal(folder, recover)).engine;
  }

  /** Opens the journal, which holds the lock from now on. Called once. */
  async openJournal(): Promise<Journal> {
    const { folder, durability = 'full', segmentBytes, onLost, log } = this.options;
    const options = { folder, durability, segmentBytes, onLost, log };
    const journal = await Journal.open(options, this.found, this.folderLock);
    this.isLocked = false;
    return journal;
  }

  async release(): Promise<void> {
    if (!this.isLocked) return;
    this.isLocked = false;
    await this.folderLock.release();
  }
}
