/** Disk space of a folder: how much is free, and whether it is enough for startup. */
import { rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { withFile } from './files.js';
import type { Trouble } from './trouble.js';

const PIECE_BYTES = 1024 * 1024;
/** Bytes that the journal may write before a checkpoint frees space. */
const NEEDED_BYTES = 8 * PIECE_BYTES;

/** Free bytes on the folder's disk; null if the system does not report them. */
export function freeBytesAt(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** Writes a file and removes it, because quotas and limits of the process count, too. @throws */
export function proveRoom(folder: string): void {
  const path = join(folder, 'room.tmp');
  try {
    withFile(path, 'w', (file) => {
      const piece = Buffer.alloc(PIECE_BYTES, 1);
      for (let at = 0; at < NEEDED_BYTES; )
        at += writeSync(file, piece, 0, Math.min(piece.length, NEEDED_BYTES - at));
    });
  } finally {
    rmSync(path, { force: true });
  }
}

/** A prediction of {@link proveRoom} from the free space alone; null means enough. */
export function roomProblem(folder: string, free = freeBytesAt(folder)): Trouble | null {
  if (free === null || free >= NEEDED_BYTES) return null;
  return noRoom(folder, `${Math.floor(free / 1024)} KiB are free`);
}

export function noRoom(folder: string, why: string): Trouble {
  return {
    problem: `${folder} has no room: the journal needs ${NEEDED_BYTES / 2 ** 20} MiB to start, and they could not be written (${why})`,
    file: folder,
    remedy:
      'Nothing was changed. Free disk space, or raise the quota or the limit (ulimit -f). Older ' +
      'segments can be moved to another disk, also from a full one: npm run archive -- --data ' +
      `${folder} --to <the archive>`,
  };
}
