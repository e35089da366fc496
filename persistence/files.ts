/**
 * Files and folders of the journal: readable by their owner alone, and on disk when they are said to be.
 */
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';

const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;

/** Makes the folder if there is none; one that exists keeps its mode. */
export async function createPrivateFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  // A folder's name is on disk when the folder that holds it is.
  if (first !== undefined) await syncPath(dirname(first));
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
