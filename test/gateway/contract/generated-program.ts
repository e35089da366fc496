/** Compiles a program with a generated client under strict rules, and runs it. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';

/** Inside the repository, where packages are found, and not under version control. */
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
  types: ['node'],
  outDir: 'built',
};

/** A folder for one program; the caller removes it. */
export async function programFolder(): Promise<string> {
  await mkdir(DIST, { recursive: true });
  return mkdtemp(join(DIST, 'contract-client-'));
}

/**
 * Compiles program.ts, and what else is in the folder, and runs it with the arguments.
 * @returns what it printed, as JSON
 */
export async function compileAndRun(
  folder: string,
  program: string,
  args: readonly string[],
  rules: object = {},
  // biome-ignore lint/suspicious/noExplicitAny: tests read what a program prints field by field
): Promise<any> {
  await writeFile(join(folder, 'program.ts'), program);
  const options = { compilerOptions: { ...STRICT, ...rules }, include: ['**/*.ts'] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(options));
  const compiled = await run(process.execPath, [TSC, '-p', folder]).catch((error) => error);
  expect(compiled.stdout).toBe('');
  const { stdout } = await run(process.execPath, [join(folder, 'built/program.js'), ...args]);
  return JSON.parse(stdout);
}
