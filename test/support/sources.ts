/** The source files of this repository and what each of them imports, read from their text. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

export interface Source {
  /** From the root of the repository. */
  path: string;
  /** The first part of the path. */
  folder: string;
  text: string;
  /** As written: packages, and paths relative to the file. */
  imports: string[];
  /** The files of this repository among the imports. */
  targets: string[];
  /** What it imports at run time, as a file of this repository or a package. */
  needs: string[];
}

export function sourcesOf(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => sourceAt(join(folder, name)));
}

function sourceAt(path: string): Source {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const imports = namesIn(text, /\b(?:from|import\(|import)\s*'([^']+)'/g);
  const types = new Set(namesIn(text, /^(?:import|export) type [^;]*?\bfrom '([^']+)'/gm));
  const fileOf = (name: string) => join(dirname(path), name).replace(/\.js$/, '.ts');
  const isFile = (name: string) => name.startsWith('.');
  return {
    path,
    folder: path.split('/')[0]!,
    text,
    imports,
    targets: imports.filter(isFile).map(fileOf),
    needs: imports
      .filter((name) => !types.has(name))
      .map((name) => (isFile(name) ? fileOf(name) : name)),
  };
}

function namesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1]!);
}

/** Everything that can be reached from `from` by `next`; `from` itself only by a cycle. */
export function reachableFrom(
  from: string,
  next: (path: string) => readonly string[],
): Set<string> {
  const reached = new Set<string>();
  const open = [...next(from)];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    open.push(...next(path));
  }
  return reached;
}
