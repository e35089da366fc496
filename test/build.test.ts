/** A tool runs the existing build and never changes the program that an exchange runs from. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TOOLS = ['replay', 'doctor', 'backup', 'restore', 'archive', 'upgrade', 'copy', 'takeover'];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'build-'));
  for (const each of [
    'engine',
    'persistence',
    'gateway',
    'bench',
    'test/support',
    'test/trials/site',
    'dist',
  ])
    mkdirSync(join(folder, each), { recursive: true });
  for (const each of ['README.md', 'package-lock.json', 'rolldown.config.ts'])
    writeFileSync(join(folder, each), '');
  for (const each of ['tsconfig.json', 'tsconfig.build.json'])
    writeFileSync(join(folder, each), '{}');
  copyFileSync(join(ROOT, 'build.ts'), join(folder, 'build.ts'));
  writeFileSync(join(folder, 'dist/program.js'), 'as it runs');
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) =>
  spawnSync(process.execPath, ['--experimental-strip-types', join(folder, 'build.ts'), ...args], {
    encoding: 'utf8',
  });

test('after a change of the source a tool compiles nothing, and says so', () => {
  writeFileSync(join(folder, 'dist/.inputs'), 'other sources');
  const { status, stderr } = run('--if-missing');
  expect([status, stderr]).toEqual([0, expect.stringContaining('the source has changed')]);
  expect(readFileSync(join(folder, 'dist/.inputs'), 'utf8')).toBe('other sources');
  // There is no compiler here, so a compilation would fail.
  expect(run().status).toBe(1);
});

test('a tool compiles where nothing was built', () => {
  expect(run('--if-missing')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Compiling'),
  });
});

test.each(TOOLS)('npm run %s runs what was built', (tool) => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(scripts[tool]).toMatch(/^npm run --silent built && exec node/);
});
