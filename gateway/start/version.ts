/** This program as installed: its folder, compiled or not, and its version. */
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

const Package = z.object({ version: z.string() });

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
  const text = readFileSync(new URL('package.json', programFolder()), 'utf8');
  return Package.parse(JSON.parse(text)).version;
}
