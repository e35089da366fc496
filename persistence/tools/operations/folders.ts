/**
 * Copies of a data folder: the journal, the session secret, and the newest snapshot for which the
 * copied journal vouches. Everything else is rebuilt.
 *
 * Invariant: the original is only read, even while an exchange trades on it.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { HEAD_FILE, type JournalPosition } from '../../journal/format.js';
import type { Journal } from '../../journal/journal.js';
import { type JournalReader, openJournalReader } from '../../journal/reader.js';
import { listSegments } from '../../journal/segments.js';
import type { CommitLog } from '../../journal/store.js';
import { openJournal } from '../../recovery/data-folder.js';
import { UNFINISHED_COPY } from '../../recovery/judgement.js';
import {
  prepareSnapshotFolder,
  removeOldSnapshots,
  snapshotNameOf,
} from '../../recovery/snapshot/folder.js';
import { loadNewestSnapshot } from '../../recovery/snapshot/load.js';
import {
  createPrivateFile,
  createPrivateFolder,
  FILE_MODE,
  syncPath,
} from '../../storage/files.js';
import { parseSecrets, SECRET_FILE } from '../../storage/session-secret.js';
import { UsageError } from '../replay/input/arguments.js';

const SILENT = { warn: () => {} };

/** The request cannot be carried out; nothing was changed. */
export class OperationRefused extends UsageError {
  override name = 'OperationRefused';
}

export function mustBeNew(folder: string): void {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return;
  throw new OperationRefused(`${folder} is not empty: name a new folder`);
}

export function mustBeNewOrCopy(folder: string): void {
  if (listSegments(folder).length === 0 && !existsSync(join(folder, UNFINISHED_COPY)))
    mustBeNew(folder);
}

/**
 * Runs `work` on a folder. A failure leaves nothing: a new folder is removed, an existing one is
 * emptied.
 */
export async function orNothing<Result>(
  folder: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const wasThere = existsSync(folder);
  const wasNew = !wasThere || readdirSync(folder).length === 0;
  try {
    return await work();
  } catch (error) {
    const made = wasThere ? readdirSync(folder).map((name) => join(folder, name)) : [folder];
    if (wasNew) for (const path of made) rmSync(path, { recursive: true, force: true });
    throw error;
  }
}

export function mustBeApart(from: string, to: string): void {
  const [a, b] = [realPath(from) + sep, realPath(to) + sep];
  if (!a.startsWith(b) && !b.startsWith(a)) return;
  throw new OperationRefused(
    `one of ${from} and ${to} contains the other, or they are the same folder: name a folder ` +
      'outside the other',
  );
}

/** The path without symbolic links, even of a folder that does not exist yet. */
function realPath(path: string): string {
  const whole = resolve(path);
  return existsSync(whole) ? realpathSync(whole) : join(realPath(dirname(whole)), basename(whole));
}

/**
 * Opens the journal of a copy. A mark file keeps exchanges from starting on it until
 * {@link finishCopy}: a folder with a journal is finished, or has that file. Commits are not synced
 * one by one: {@link closeCopy} syncs the whole copy.
 */
export async function openCopy(folder: string): Promise<Journal> {
  await createPrivateFolder(folder);
  if (listSegments(folder).length === 0) {
    await createPrivateFile(join(folder, UNFINISHED_COPY));
    await syncPath(folder);
  }
  return openJournal({ folder, durability: 'normal', acceptUnfinished: true });
}

export async function closeCopy(folder: string, journal: Pick<CommitLog, 'close'>): Promise<void> {
  await journal.close();
  for (const { path } of listSegments(folder)) await syncPath(path);
  await syncPath(join(folder, HEAD_FILE));
  await syncPath(folder);
}

export async function finishCopy(folder: string): Promise<void> {
  await syncPath(folder);
  rmSync(join(folder, UNFINISHED_COPY), { force: true });
  await syncPath(folder);
}

/** @throws OperationRefused for an invalid secret, which must not replace a good one. */
export function mustHaveGoodSecret(folder: string): void {
  const path = join(folder, SECRET_FILE);
  if (existsSync(path) && parseSecrets(readFileSync(path, 'utf8')) === null)
    throw new OperationRefused(
      `${path} is damaged. Nothing was copied. If a backup has a good one, put it back with mode ` +
        '0600. If none has, remove the file: then all sessions and named tokens end',
    );
}

export function hasSecret(folder: string): boolean {
  return existsSync(join(folder, SECRET_FILE));
}

/** Copies the secret, so that users stay signed in. */
export async function copySecret(from: string, to: string): Promise<void> {
  if (hasSecret(from)) await copyFile(join(from, SECRET_FILE), join(to, SECRET_FILE));
}

/** Copies a snapshot that the copied journal proves. Returns its sequence; 0 if there is none. */
export async function copySnapshot(from: string, to: string): Promise<number> {
  const reader = await openJournalReader(to);
  try {
    const { sequence: notAfter } = await reader.end();
    const { position } = await loadNewestSnapshot({ folder: from, reader, log: SILENT, notAfter });
    const { sequence } = position;
    if (sequence === 0) return 0;
    await prepareSnapshotFolder(to);
    await copyFile(snapshotNameOf(from, sequence).path, snapshotNameOf(to, sequence).path);
    await syncPath(join(to, 'snapshots'));
    removeOldSnapshots(to, { sequence, vouchedSequence: sequence });
    return sequence;
  } finally {
    await reader.close();
  }
}

export async function contains(
  reader: JournalReader,
  { sequence, hash }: JournalPosition,
): Promise<boolean> {
  return (await reader.positionAt(sequence))?.hash.equals(hash) ?? false;
}

async function copyFile(from: string, to: string): Promise<void> {
  const temporary = `${to}.tmp`;
  copyFileSync(from, temporary);
  chmodSync(temporary, FILE_MODE);
  await syncPath(temporary);
  renameSync(temporary, to);
}
