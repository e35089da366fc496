/**
 * Two projects. `quick` (npm run test:quick) has the tests that start no process and no thread:
 * they need no build. `built` has the others, whose threads and processes run dist/. What a test
 * imports, directly or through other files, decides where it belongs.
 */
import { defineConfig } from 'vitest/config';
import { reachableFrom, sourcesOf } from './test/support/sources.js';

const STARTS_ANOTHER = ['node:child_process', 'node:worker_threads'];

const sources = ['engine', 'persistence', 'gateway', 'bench', 'test'].flatMap(sourcesOf);
const needs = new Map(sources.map((source) => [source.path, source.needs]));
const tests = sources.map(({ path }) => path).filter((path) => path.endsWith('.test.ts'));
const startsAnother = (path: string) => {
  const reached = reachableFrom(path, (each) => needs.get(each) ?? []);
  return STARTS_ANOTHER.some((module) => reached.has(module));
};

export default defineConfig({
  test: {
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // As long as eventually() waits; the default, a second, is too short on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    // One more than two cores: a file that waits for a clock or a child process leaves its core to
    // another.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        // They share what they import: nothing in it changes.
        test: {
          isolate: false,
          name: 'quick',
          include: tests.filter((path) => !startsAnother(path)),
        },
      },
      { extends: true, test: { name: 'built', include: tests.filter(startsAnother) } },
    ],
  },
});
