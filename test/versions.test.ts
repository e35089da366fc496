/**
 * What is on disk outlives the program that wrote it. A run of commands that never changes has come to the same bytes in every
 * version: in the journal, in the engine's digest, in a snapshot. Where one of them differs from what stands here, a journal or a
 * snapshot that exists somewhere is not what this program makes of it: then the version that is named is raised, and the
 * new values are put here.
 */
import { createHash } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { HISTORY_VERSION, SCHEMA } from '../persistence/history-format.js';
import { FORMAT_VERSION } from '../persistence/journal-format.js';
import { takeSnapshot } from '../persistence/snapshot-file.js';
import { SNAPSHOT_VERSION } from '../persistence/snapshot-format.js';
import { Folders, readAll } from './journal-fixture.js';
import { ReplayExchange } from './replay-exchange.js';

const folders = new Folders();
afterEach(() => folders.removeAll());

function sha256(pieces: Iterable<string | Uint8Array>): string {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex').slice(0, 32);
}

it('the same commands come to the same bytes as ever', async () => {
  const folder = folders.make();
  const exchange = await ReplayExchange.open(folder, 'versions');
  await exchange.run(900);
  for (let i = 0; i < 200; i++) exchange.trade();
  await exchange.settle();
  const { engine, journal } = exchange;
  const snapshot = takeSnapshot(engine, journal.end);
  const digest = engine.digest();
  await exchange.sequencer.close();
  const frames = (await readAll(folder)).map((batch) => batch.frames);

  expect({ FORMAT_VERSION, digest, frames: sha256(frames) }, 'FORMAT_VERSION of journal-format.ts').toEqual({
    FORMAT_VERSION: 2,
    digest: 'be208442fdbc9934',
    frames: '915247c900869e64f1ff151d3d839e54',
  });
  expect(
    { SNAPSHOT_VERSION, state: sha256(snapshot.pieces) },
    'SNAPSHOT_VERSION of snapshot-format.ts',
  ).toEqual({
    SNAPSHOT_VERSION: 3,
    state: '1916e3c998236a015cb7dd37d87a4aa5',
  });
  expect({ HISTORY_VERSION, schema: sha256(SCHEMA) }, 'HISTORY_VERSION of history-format.ts').toEqual({
    HISTORY_VERSION: 1,
    schema: '3381bb7b6c5cb405506f95942ff7e4ed',
  });
});
