import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // One more than two cores: a file that waits for a clock or a child process leaves its core to another.
    maxWorkers: 3,
  },
});
