/**
 * Every reader of untrusted bytes, with inputs that are mutated from valid ones: each is refused as
 * it should be, or read like a slow reader reads it. In a trial the mutations follow the covered
 * code; `npm test` has a sample without that. SEED repeats the choices.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';
import { extent, SEED } from '../../support/extent.js';
import { Random } from '../../support/workload/random.js';
import { Coverage } from './coverage.js';
import { fuzz } from './fuzz.js';

const SECONDS = extent(60, 0.5);
const coverage = inject('times') === undefined ? null : new Coverage();
coverage?.start();
// Imported here, because code that is compiled earlier is not counted.
const [{ textTargets }, { byteTargets }] = [await import('./texts.js'), await import('./bytes.js')];

const folder = mkdtempSync(join(tmpdir(), 'fuzzing-'));
afterAll(() => {
  coverage?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const targets = [...(await textTargets(folder)), ...(await byteTargets(folder))];

test.for(targets)(`$name, SEED=${SEED}`, async (target, { annotate }) => {
  const random = new Random(`${SEED}:${target.name}`);
  const tally = await fuzz(target, random, coverage, SECONDS * 1_000);
  expect(tally.inputs).toBeGreaterThan(target.seeds.length);
  await annotate(JSON.stringify(tally));
});
