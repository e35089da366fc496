/**
 * Three projects. `quick` (npm run test:quick) contains the tests that start no process and no
 * thread, so they need no build. `threads` and `processes` run dist/. The imports of a test, direct
 * or through other files, determine its project.
 *
 * Invariant: the files of `quick` and `threads` share imported modules, because nothing in them
 * changes. The files of `processes` do not, because the address space that earlier files' exchanges
 * reserve would not leave enough to start another process.
 */
import { defineConfig } from 'vitest/config';
import { reachableFrom, sourcesOf } from './test/support/sources.js';

const sources = ['engine', 'persistence', 'gateway', 'bench', 'test'].flatMap(sourcesOf);
const needs = new Map(sources.map((source) => [source.path, source.needs]));
const tests = sources.map(({ path }) => path).filter((path) => path.endsWith('.test.ts'));
const projectOf = (path: string) => {
  const reached = reachableFrom(path, (each) => needs.get(each) ?? []);
  if (reached.has('node:child_process')) return 'processes';
  return reached.has('node:worker_threads') ? 'threads' : 'quick';
};

/** Seeds all random choices, so that runs are repeatable. Another seed finds other faults. */
const { SEED = '1' } = process.env;
process.stdout.write(`SEED=${SEED}\n`);

export default defineConfig({
  test: {
    env: { SEED },
    testTimeout: 300_000,
    hookTimeout: 180_000,
    // As long as eventually() waits. The default of one second is too short on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    // One more than two cores, because a file that waits for a clock or child process leaves its
    // core.
    maxWorkers: 3,
    projects: ['quick', 'threads', 'processes'].map((name) => ({
      extends: true,
      test: {
        name,
        isolate: name === 'processes',
        include: tests.filter((path) => projectOf(path) === name),
      },
    })),
  },
});
