/**
 * The end of the last backup of a data folder, in a file of that folder, so that a running exchange
 * can report it; the backup's age is the file's age. The file also shows that the folder had a
 * journal (evidence.ts). It is not copied.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const LAST_BACKUP_FILE = 'last-backup';

export interface LastBackup {
  sequence: number;
  /** When the backup finished, by the machine's clock. */
  atMs: number;
}

export function noteBackup(folder: string, sequence: number): void {
  try {
    writeFileSync(join(folder, LAST_BACKUP_FILE), `${sequence}\n`, { mode: 0o600 });
  } catch {
    // A read-only folder has no such file.
  }
}

/** Reads the note of the last backup; null if it is missing or unreadable. */
export function lastBackup(folder: string): LastBackup | null {
  const path = join(folder, LAST_BACKUP_FILE);
  try {
    const text = readFileSync(path, 'utf8');
    if (!/^\d{1,15}\n$/.test(text)) return null;
    return { sequence: Number(text), atMs: Math.floor(statSync(path).mtimeMs) };
  } catch {
    return null;
  }
}
