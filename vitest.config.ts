import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // Two cores: one file of server tests beside one of engine tests.
    maxWorkers: 2,
  },
});
