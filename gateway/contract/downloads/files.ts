/** Downloads below /client/, built by build.ts; /client/ itself has the instructions. */
import { readdirSync, readFileSync } from 'node:fs';
import { programFolder } from '../../../persistence/storage/program-folder.js';
import { type StaticFile, staticFile } from '../../http/answers/static-file.js';

/** Other files are not served. */
const CONTENT_TYPES: Record<string, string> = {
  tgz: 'application/gzip',
  py: 'text/x-python; charset=utf-8',
  toml: 'application/toml',
  ts: 'text/plain; charset=utf-8',
};

let read: Map<string, StaticFile> | null = null;

/** Read once. @throws if they are not built */
export function downloads(): Map<string, StaticFile> {
  if (read !== null) return read;
  const folder = new URL('dist/downloads/', programFolder());
  const files = new Map<string, StaticFile>();
  // No compressed forms, because the files are small or already compressed.
  const fileAt = (name: string, contentType: string) =>
    staticFile(contentType, readFileSync(new URL(name, folder)));
  for (const name of readdirSync(folder)) {
    const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (contentType !== undefined) files.set(`/client/${name}`, fileAt(name, contentType));
  }
  const guide = fileAt('package/README.md', 'text/plain; charset=utf-8');
  for (const path of ['/client', '/client/']) files.set(path, guide);
  read = files;
  return files;
}
