/**
 * A data folder that only this process holds: locked, judged, recovered from, then written to.
 *
 * Invariant: nothing in the folder is changed before {@link DataFolder.openJournal}, except that
 * a killed process's writes are synced before they count as committed. The judgement changes no
 * file: closing a connection that can write would fold journal.db-wal into journal.db and drop a
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

/** Mode bits: the group or others may write. */
const OTHERS_WRITE = 0o022;

export interface DataFolderOptions {
  /** Created (mode 0700) if missing. */
  folder: string;
  durability?: Durability;
  /** Default false: without journal.head, the journal's end may be missing, as in a copy. */
  acceptMissingMark?: boolean;
  acceptUnfinished?: boolean;
  segmentBytes?: number | undefined;
  onLost?: ((error: JournalError) => void) | undefined;
  log?: JournalOptions['log'];
}

/** The lock is held until the journal is closed. @throws JournalError; nothing has been changed. */
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
 * Checks access to everything that startup needs, which excludes the history. @throws the system's
 * error, with a remedy
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

  /**
   * @throws JournalError if the folder is in use or fails the check; the folder is then unchanged
   */
  static async lock(options: DataFolderOptions): Promise<DataFolder> {
    const { folder, acceptMissingMark = false, acceptUnfinished = false } = options;
    const judge = () => judgeFolder(folder, { acceptMissingMark, acceptUnfinished });
    await createPrivateFolder(folder);
    // Without a lock file the folder is not in use. A refused folder gets no lock file.
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

  get notice(): string | null {
    const { folder } = this.options;
    const { notice } = this.found;
    if ((statSync(folder).mode & OTHERS_WRITE) === 0) return notice;
    const open = `others than its owner may change the data folder: chmod 700 ${folder}`;
    return notice === null ? open : `${notice}; ${open}`;
  }

  get remark(): string | null {
    return this.found.remark;
  }

  get isNew(): boolean {
    return this.found.isNew;
  }

  /** Damage in a part of the journal that startup does not need; null if none. */
  get damage(): string | null {
    return this.found.damage;
  }

  /** Call before {@link openJournal}. @throws JournalError if the journal leads elsewhere. */
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

  /** Opens the journal, which takes over the lock. Call once. */
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
