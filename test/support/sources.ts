/** The source files of this repository and their imports, read from the text. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

export interface Source {
  /** The path relative to the repository root. */
  path: string;
  folder: string;
  text: string;
  /** The imports as written: packages, and paths relative to the file. */
  imports: string[];
  /** Imports that are files of this repository. */
  targets: string[];
  /** Run-time imports: files of this repository, and packages. */
  needs: string[];
}

export function sourcesOf(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => sourceAt(join(folder, name)));
}

function sourceAt(path: string): Source {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const imports = namesIn(text, /\b(?:from|import\(|import)\s*'([^']+)'/g);
  const types = new Set(namesIn(text, /^(?:import|export) type [^;]*?\bfrom '([^']+)'/gm));
  const fileOf = (name: string) => {
    const file = join(dirname(path), name).replace(/\.js$/, '.ts');
    return existsSync(join(ROOT, `${file}x`)) ? `${file}x` : file;
  };
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

/** Everything that `next` reaches from `from`; `from` itself only through a cycle. */
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
