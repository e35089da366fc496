/** A small disk in memory, and a way to fill it. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Mounts a small disk on a folder. Returns false if this user may not mount. */
export function mounted(folder: string, size = '24m'): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', folder], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

/** Fills the disk completely, with a file that can be removed. */
export function fill(folder: string): void {
  const file = openSync(join(folder, 'filler'), 'w');
  for (let bytes = 1024 * 1024; bytes > 0; ) {
    try {
      writeSync(file, Buffer.alloc(bytes, 1));
    } catch {
      bytes = Math.floor(bytes / 2);
    }
  }
  closeSync(file);
}
