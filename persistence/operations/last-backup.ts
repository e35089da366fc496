/**
 * What the last backup of a data folder reached, in a file of that folder, so that a running
 * exchange can say how old it is. The file proves nothing and is not copied, and a folder that can
 * only be read has none.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'last-backup';

export interface LastBackup {
  sequence: number;
  /** When it was finished, by the machine's clock. */
  atMs: number;
}

export function noteBackup(folder: string, { sequence, atMs }: LastBackup): void {
  try {
    writeFileSync(join(folder, FILE), `${sequence} ${atMs}\n`, { mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
  }
}

/** null: there is none, or it cannot be read. */
export function lastBackup(folder: string): LastBackup | null {
  try {
    const [, sequence, atMs] = /^(\d{1,16}) (\d{1,16})\n$/.exec(
      readFileSync(join(folder, FILE), 'utf8'),
    ) as unknown as [string, string, string];
    return { sequence: Number(sequence), atMs: Number(atMs) };
  } catch {
    return null;
  }
}
