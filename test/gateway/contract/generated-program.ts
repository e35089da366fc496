/** Compiles client programs under strict rules, and runs them. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';

/** Inside the repository, where packages are found, but not under version control. */
const DIST = fileURLToPath(new URL('../../../dist/', import.meta.url));
const TSC = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin/tsc',
);
const run = promisify(execFile);

const STRICT = {
  target: 'ES2022',
  lib: ['ES2022', 'DOM', 'DOM.Iterable'],
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmitOnError: true,
  // Generated declarations are checked, because they are not a library.
  skipLibCheck: true,
  types: ['node'],
  rootDir: '.',
  outDir: 'built',
};

/** Creates a folder for programs, which the caller removes. */
export async function folderForPrograms(): Promise<string> {
  await mkdir(DIST, { recursive: true });
  return mkdtemp(join(DIST, 'contract-client-'));
}

/** Compiles the files that match these patterns. */
export async function compile(folder: string, include: string[], rules: object): Promise<void> {
  const options = { compilerOptions: { ...STRICT, ...rules }, include };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(options));
  const compiled = await run(process.execPath, [TSC, '-p', folder]).catch((error) => error);
  expect(compiled.stdout).toBe('');
}

/**
 * Runs <name>/program.ts of a compiled folder.
 * @returns its output, parsed as JSON
 */
export async function runProgram(
  folder: string,
  name: string,
  args: readonly string[],
  // biome-ignore lint/suspicious/noExplicitAny: tests read what a program prints field by field
): Promise<any> {
  const { stdout } = await run(process.execPath, [
    join(folder, 'built', name, 'program.js'),
    ...args,
  ]);
  return JSON.parse(stdout);
}
