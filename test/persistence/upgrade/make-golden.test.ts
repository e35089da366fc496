/** Regenerates the golden folder, only on request: see `GOLDEN` in CONTRIBUTING.md. */
import { test } from 'vitest';
import { makeGolden } from './golden-run.js';

const { GOLDEN } = process.env;

test.skipIf(GOLDEN === undefined)('the golden folder is rebuilt', async () => {
  await makeGolden(GOLDEN!);
});
