/** Private files and folders, made durable with fsync. */
import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { mkdir, open, opendir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { TroubleError } from './trouble.js';

const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;
const PIECE_BYTES = 1024 * 1024;

/**
 * Creates the folder and its missing parents, durably; an existing folder keeps its mode. mkdir's
 * `recursive` option loops forever in a folder such as /proc that accepts no entries.
 */
export async function createPrivateFolder(folder: string): Promise<void> {
  const missing: string[] = [];
  for (let path = resolve(folder); !exists(path); path = dirname(path)) missing.unshift(path);
  for (const path of missing) {
    await mkdir(path, FOLDER_MODE).catch(unlessExisting);
    // A folder's name is durable when its parent folder is synced.
    await syncPath(dirname(path));
  }
  await (await opendir(folder)).close();
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Another process may have created the folder at the same time. */
function unlessExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** Adds the path: the system does not name the file when an operation on an open one fails. */
export function named(error: unknown, path: string): unknown {
  if (error instanceof Error && 'code' in error) (error as NodeJS.ErrnoException).path ??= path;
  return error;
}

/** @throws the system's error if this user may not use the file or folder. */
export function mayUse(path: string, mode = constants.R_OK | constants.W_OK): void {
  try {
    accessSync(path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

export function withFile<Result>(
  path: string,
  flags: 'r' | 'w',
  work: (file: number) => Result,
): Result {
  const file = openSync(path, flags, FILE_MODE);
  try {
    return work(file);
  } catch (error) {
    throw named(error, path);
  } finally {
    closeSync(file);
  }
}

/** SHA-256 of a whole file. Blocks. */
export function fileHash(path: string): Buffer {
  return withFile(path, 'r', (file) => {
    const hash = createHash('sha256');
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    for (let got = readSync(file, piece); got > 0; got = readSync(file, piece))
      hash.update(piece.subarray(0, got));
    return hash.digest();
  });
}

/** Does not open an existing file: closing it would release SQLite's locks on it (POSIX). */
export async function createPrivateFile(path: string): Promise<void> {
  try {
    const file = await open(path, 'wx', FILE_MODE);
    await file.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Makes the contents of a file, or the names in a folder, durable. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } catch (error) {
    throw named(error, path);
  } finally {
    await file.close();
  }
}

/** Without the final line break. @throws TroubleError if other users may read it */
export function readPrivateText(path: string): string {
  const found = statSync(path);
  if (!found.isFile())
    throw new TroubleError({
      problem: `${path} is not a file`,
      file: path,
      remedy: `Move ${path} away, and put the file with the secret in its place`,
    });
  if ((found.mode & 0o077) !== 0)
    throw new TroubleError({
      problem: `${path} can be read by other users`,
      file: path,
      remedy: `Run: chmod 600 ${path}`,
    });
  return readFileSync(path, 'utf8').trimEnd();
}
