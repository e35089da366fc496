/** The version of this program. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { programFolder } from '../../persistence/storage/program-folder.js';

const Package = z.object({ version: z.string() });

export function programVersion(): string {
  const text = readFileSync(new URL('package.json', programFolder()), 'utf8');
  return Package.parse(JSON.parse(text)).version;
}
