/**
 * Three projects. `quick` (npm run test:quick) has the tests that start no process and no thread:
 * they need no build. The threads of `threads` and the processes of `processes` run dist/. What a
 * test imports, directly or through other files, decides where it belongs.
 *
 * Always holds: the files of `quick` and `threads` share what they import, because nothing in it
 * changes. Those of `processes` do not: the address space that exchanges of earlier files reserve
 * is too much to start another process.
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

/** Of all random choices, so that every run makes the same. Another one finds other faults. */
const { SEED = '1' } = process.env;
process.stdout.write(`SEED=${SEED}\n`);

export default defineConfig({
  test: {
    env: { SEED },
    testTimeout: 300_000,
    hookTimeout: 180_000,
    // As long as eventually() waits; the default, a second, is too short on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    // One more than two cores: a file that waits for a clock or a child process leaves its core to
    // another.
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
