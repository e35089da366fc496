/** The version of this program, from the nearest package.json above this file, compiled or not. */
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

const Package = z.object({ version: z.string() });

export function programVersion(): string {
  let folder = new URL('.', import.meta.url);
  while (!existsSync(new URL('package.json', folder))) {
    const above = new URL('..', folder);
    if (above.href === folder.href) throw new Error('the package.json of this program is missing');
    folder = above;
  }
  return Package.parse(JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))).version;
}
