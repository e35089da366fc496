/**
 * Files and folders of the journal: readable by their owner alone, and on disk when they are said to be.
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { mkdir, open, opendir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;
const ROOM_PIECE_BYTES = 1024 * 1024;

/**
 * Makes the folder, and those that it is in, where there are none; one that exists keeps its mode. One at a time: mkdir's own
 * recursion never ends in a folder like /proc, which is there and cannot be added to.
 */
export async function createPrivateFolder(folder: string): Promise<void> {
  const missing: string[] = [];
  for (let path = resolve(folder); !(await isThere(path)); path = dirname(path)) missing.unshift(path);
  for (const path of missing) {
    await mkdir(path, FOLDER_MODE).catch(unlessExisting);
    // A folder's name is on disk when the folder that holds it is.
    await syncPath(dirname(path));
  }
  await (await opendir(folder)).close();
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Somebody else may have made it since. */
function unlessExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/**
 * Proves that so many bytes can be written to the folder, by writing them to a file that is removed again. Free space says less:
 * quotas and limits of the process count, too.
 * @throws the operating system's error
 */
export function proveRoom(folder: string, bytes: number): void {
  const path = join(folder, 'room.tmp');
  try {
    const file = openSync(path, 'w', FILE_MODE);
    try {
      const piece = Buffer.alloc(ROOM_PIECE_BYTES, 1);
      for (let at = 0; at < bytes; ) at += writeSync(file, piece, 0, Math.min(piece.length, bytes - at));
    } finally {
      closeSync(file);
    }
  } finally {
    rmSync(path, { force: true });
  }
}

/**
 * Makes an empty file if there is none. One that exists is not opened: closing a file ends the locks that SQLite
 * holds on it in this process (POSIX says so), so SQLite's files are never opened beside SQLite.
 */
export async function createPrivateFile(path: string): Promise<void> {
  try {
    const file = await open(path, 'wx', FILE_MODE);
    await file.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Puts on disk what has been written to a file, or which names stand in a folder. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
