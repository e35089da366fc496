/**
 * The folder in which this program is installed.
 *
 * Invariant: the answers are the same for source (in tests), compiled code and bundles.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of the nearest package.json above this file. */
export function programFolder(): URL {
  let folder = new URL('.', import.meta.url);
  while (!existsSync(new URL('package.json', folder))) {
    const above = new URL('..', folder);
    if (above.href === folder.href) throw new Error('the package.json of this program is missing');
    folder = above;
  }
  return folder;
}

export function programVersion(): string {
  return JSON.parse(readFileSync(new URL('package.json', programFolder()), 'utf8')).version;
}

/** @param path from the folder of compiled code, say `persistence/follower/worker.js`. */
export function compiledFile(path: string): string {
  return fileURLToPath(new URL(`dist/${path}`, programFolder()));
}
