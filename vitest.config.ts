/**
 * Four projects. `quick` and `pages` (npm run test:quick) contain the tests that start no process
 * and no thread, so they need no build. `threads` and `processes` run dist/. The imports of a test,
 * direct or through other files, determine its project.
 *
 * Invariant: the files of `quick` and `threads` share imported modules, because nothing in them
 * changes. The files of `pages` do not, because the model of a page keeps its state in modules. The
 * files of `processes` do not, because the address space that earlier files' exchanges reserve
 * would not leave enough to start another process.
 */
import { defineConfig } from 'vitest/config';
import { reachableFrom, sourcesOf } from './test/support/sources.js';

const PAGE = 'test/gateway/site/model/page.ts';
const sources = ['engine', 'persistence', 'gateway', 'bench', 'test'].flatMap(sourcesOf);
const needs = new Map(sources.map((source) => [source.path, source.needs]));
const tests = sources.map(({ path }) => path).filter((path) => path.endsWith('.test.ts'));
const projectOf = (path: string) => {
  const reached = reachableFrom(path, (each) => needs.get(each) ?? []);
  if (reached.has('node:child_process')) return 'processes';
  if (reached.has('node:worker_threads')) return 'threads';
  return reached.has(PAGE) ? 'pages' : 'quick';
};
const ISOLATED = ['pages', 'processes'];

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
    projects: ['quick', 'pages', 'threads', 'processes'].map((name) => ({
      extends: true,
      test: {
        name,
        isolate: ISOLATED.includes(name),
        include: tests.filter((path) => projectOf(path) === name),
      },
    })),
  },
});
