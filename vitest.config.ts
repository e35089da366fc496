import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.js';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // One more than two cores: a file that waits for a clock or for a program that it has killed leaves its core to another.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
  },
});
