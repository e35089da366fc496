/**
 * Seals full segments: moves each one's write-ahead log into its file, syncs it, and makes it
 * read-only.
 *
 * Invariant: every step can be repeated, so the next startup completes a sealing that a crash or
 * an error interrupted. Until then the segment is read like any other. A segment that cannot be
 * sealed delays no other, keeps no file open between attempts, and is retried until it is sealed.
 */
import { chmodSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import sqlite3 from 'sqlite3';
import { syncPath } from '../storage/files.js';
import { closeDatabase, openDatabase, query } from '../storage/sqlite.js';
import { type Trouble, troubleOf } from '../storage/trouble.js';
import { listSegments, type Segment } from './segments.js';

const SEALED_MODE = 0o400;
/** A reader delays the checkpoint while it reads a page of rows. */
const RETRY_MS = 1_000;
/** A read that lasts for this many attempts is logged. */
const LONG_READ_ATTEMPTS = 3;
/** A segment still unsealed this long after its end is a problem. */
const OVERDUE_MS = 60_000;

export function isSealed(path: string): boolean {
  const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return logBytes === 0 && (statSync(path).mode & 0o777) === SEALED_MODE;
}

export function markSealed(path: string): void {
  chmodSync(path, SEALED_MODE);
}

export function unsealedIn(folder: string): Segment[] {
  return listSegments(folder)
    .slice(0, -1)
    .filter(({ path }) => !isSealed(path));
}

/** Not written to for long by `nowMs`, the machine's time. */
export function overdueIn(folder: string, nowMs: number): Segment[] {
  return unsealedIn(folder).filter(({ path }) => nowMs - statSync(path).mtimeMs > OVERDUE_MS);
}

/** Why a segment stays unsealed, as far as its file shows. */
export function unsealedTrouble({ path }: Segment): Trouble {
  const { uid } = statSync(path);
  if (uid === process.geteuid?.() || process.geteuid?.() === 0) return longRead(path);
  return troubleOf(Object.assign(new Error(), { code: 'EPERM', syscall: 'chmod', path }));
}

function longRead(path: string): Trouble {
  return {
    problem: `${path} is full and not sealed: another program has the file open for reading, or no exchange runs`,
    file: path,
    remedy: `The exchange tries again until that read ends. To find the program: fuser -v ${path}`,
  };
}

export interface SealingLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface Unsealed {
  path: string;
  /** The connection that wrote it; null after the first attempt, which closes it. */
  writer: sqlite3.Database | null;
  attempts: number;
  /** The last logged problem; null if there is nothing. */
  logged: string | null;
}

export class Sealing {
  private readonly unsealed = new Set<Unsealed>();
  private working: Promise<void> | null = null;
  private readonly closing = new AbortController();

  constructor(private readonly log: SealingLog) {}

  /** Seals a segment in the background. @param writer is closed here. */
  add(path: string, writer: sqlite3.Database): void {
    this.unsealed.add({ path, writer, attempts: 0, logged: null });
    this.working ??= this.work();
  }

  /**
   * Seals segments that a stop or a kill left unsealed, before anything reads them: a log without
   * an index can only be read while it is not written. A segment that cannot be sealed now is
   * retried in the background.
   */
  async sealLeft(folder: string): Promise<void> {
    for (const { path } of unsealedIn(folder))
      this.unsealed.add({ path, writer: null, attempts: LONG_READ_ATTEMPTS, logged: null });
    await this.tryAll();
    if (this.unsealed.size > 0) this.working = this.work();
  }

  /** Tries each segment once more; the next startup retries the rest. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.working;
  }

  private async work(): Promise<void> {
    const { signal } = this.closing;
    for (;;) {
      await this.tryAll();
      if (signal.aborted || this.unsealed.size === 0) break;
      await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => {});
    }
    this.working = null;
  }

  private async tryAll(): Promise<void> {
    for (const each of this.unsealed) {
      try {
        if (await seal(each)) {
          this.unsealed.delete(each);
          if (each.logged !== null) this.log.info({ file: each.path }, 'a full segment is sealed');
        } else if (++each.attempts > LONG_READ_ATTEMPTS) this.say(each, longRead(each.path));
      } catch (error) {
        this.say(each, troubleOf(error));
      }
    }
  }

  private say(unsealed: Unsealed, { problem, remedy }: Trouble): void {
    if (unsealed.logged === problem) return;
    unsealed.logged = problem;
    this.log.error(
      { file: unsealed.path, problem, remedy },
      'a full segment cannot be sealed, and therefore not archived; the exchange will retry',
    );
  }
}

/** Seals a segment. Returns false if another program is reading it. */
async function seal(unsealed: Unsealed): Promise<boolean> {
  const { path } = unsealed;
  const writer = unsealed.writer ?? (await openToSeal(path));
  unsealed.writer = null;
  try {
    // Do not wait in SQLite for a reader: that would occupy a thread.
    writer.configure('busyTimeout', 0);
    const [result] = await query<{ busy: number }>(writer, 'PRAGMA wal_checkpoint(TRUNCATE)');
    if (result!.busy !== 0) return false;
  } finally {
    await closeDatabase(writer);
  }
  await syncPath(path);
  chmodSync(path, SEALED_MODE);
  return true;
}

function openToSeal(path: string): Promise<sqlite3.Database> {
  chmodSync(path, 0o600);
  return openDatabase(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX);
}
