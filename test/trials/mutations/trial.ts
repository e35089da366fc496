/**
 * Makes one mistake at a time in a copy of the sources and runs the tests that must notice it. This
 * shows that these lines are tested, and where; not that every line is.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Folders } from '../../support/journal-fixture.js';
import { ROOT } from '../../support/sources.js';
import { MUTATIONS } from './mutations.js';

const COPIED = ['engine', 'persistence', 'gateway', 'bench', 'test', 'package.json'];
const CONFIGURATION = ['vitest.config.ts', 'tsconfig.json', 'rolldown.config.ts'];

const folders = new Folders();
const copy = folders.make();
for (const name of [...COPIED, ...CONFIGURATION])
  cpSync(join(ROOT, name), join(copy, name), { recursive: true });
for (const name of ['node_modules', 'dist']) symlinkSync(join(ROOT, name), join(copy, name));
afterAll(() => folders.removeAll());

const run = (path: string) =>
  spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', `test/${path}.test.ts`], {
    cwd: copy,
    encoding: 'utf8',
    env: { ...process.env, VITEST: '', NO_COLOR: '1' },
  });

test('without a mistake all of them pass', () => {
  for (const path of new Set(MUTATIONS.map(({ noticedBy }) => noticedBy))) {
    const { status, stdout, stderr } = run(path);
    expect(status, `${stdout}${stderr}`).toBe(0);
  }
});

const NAMED = MUTATIONS.map((mutation) => [mutation.mistake, mutation] as const);
test.for(NAMED)('%s', async ([, { file, from, to, noticedBy }], { annotate }) => {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  expect(text.split(from), `${from} in ${file}`).toHaveLength(2);
  writeFileSync(path, text.replace(from, to));
  const startedMs = performance.now();
  const { status, stdout } = run(noticedBy);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  writeFileSync(path, text);
  const noticed = /^ +× (.*?) \d+ms$/m.exec(stdout)?.[1];
  expect(status, stdout).toBe(1);
  expect(noticed, stdout).toBeDefined();
  await annotate(`test/${noticedBy}: ${noticed}, after ${seconds} s`);
});
