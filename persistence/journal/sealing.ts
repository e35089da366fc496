/**
 * Seals full segments: moves each one's write-ahead log into its file, syncs it, and makes it
 * read-only.
 *
 * Invariant: every step can be repeated, so the next start completes a sealing that a crash or
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
/** A reader delays the checkpoint while it reads a page of rows. The pause doubles. */
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 10_000;
const LONG_READ_MS = 3_000;
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
    problem: `${path} is full and not sealed: another program holds a read of it open, or no exchange runs`,
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
  waitedMs: number;
  /** The last logged problem; null if there is nothing. */
  logged: string | null;
}

export class Sealing {
  private readonly unsealed: Unsealed[] = [];
  private working: Promise<void> | null = null;
  private readonly closing = new AbortController();
  private added = new AbortController();

  constructor(private readonly log: SealingLog) {}

  /** Seals a segment in the background. @param writer is closed here. */
  add(path: string, writer: sqlite3.Database): void {
    this.unsealed.push({ path, writer, waitedMs: 0, logged: null });
    this.added.abort();
    this.working ??= this.work();
  }

  /**
   * Seals segments that a stop or a kill left unsealed, before anything reads them: a log without
   * an index can only be read while it is not written. A segment that cannot be sealed now is
   * retried in the background.
   */
  async sealLeft(folder: string, last: number): Promise<void> {
    for (const { number, path } of listSegments(folder))
      if (number < last && !isSealed(path))
        this.unsealed.push({ path, writer: null, waitedMs: LONG_READ_MS, logged: null });
    await this.tryAll(0);
    if (this.unsealed.length > 0) this.working = this.work();
  }

  /** Tries each segment once more; the next start retries the rest. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.working;
  }

  private async work(): Promise<void> {
    let waitMs = 0;
    while (this.unsealed.length > 0) {
      await this.tryAll(waitMs);
      if (this.closing.signal.aborted || this.unsealed.length === 0) break;
      waitMs = Math.min(Math.max(2 * waitMs, FIRST_RETRY_MS), LONGEST_RETRY_MS);
      this.added = new AbortController();
      const signal = AbortSignal.any([this.added.signal, this.closing.signal]);
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => {});
    }
    this.working = null;
  }

  private async tryAll(waitedMs: number): Promise<void> {
    for (const each of [...this.unsealed]) {
      each.waitedMs += waitedMs;
      try {
        if (await seal(each)) {
          this.unsealed.splice(this.unsealed.indexOf(each), 1);
          if (each.logged !== null) this.log.info({ file: each.path }, 'a full segment is sealed');
        } else if (each.waitedMs >= LONG_READ_MS) this.say(each, longRead(each.path));
      } catch (error) {
        this.say(each, troubleOf(error));
      }
    }
  }

  private say(unsealed: Unsealed, trouble: Trouble): void {
    if (unsealed.logged === trouble.problem) return;
    unsealed.logged = trouble.problem;
    const fields = { file: unsealed.path, problem: trouble.problem, remedy: trouble.remedy };
    this.log.error(
      fields,
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
