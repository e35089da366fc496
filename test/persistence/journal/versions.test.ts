/**
 * Files on disk outlive the program that wrote them. A fixed run of commands always gives the same
 * bytes: in the journal, the digest, a snapshot and the runs of the history. Until version 1 is
 * released (CHANGELOG.md), version 1 is whatever this program writes: update a value that changes
 * on purpose, and keep the number. After the release, raise the named version with the value.
 */
import { createHash } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import {
  emptyHistoryState,
  type HistoryChanges,
  Projection,
} from '../../../persistence/history/projection.js';
import { HISTORY_VERSION, SCHEMA } from '../../../persistence/history/runs/format.js';
import { FORMAT_VERSION } from '../../../persistence/journal/format.js';
import type { JournalBatch } from '../../../persistence/journal/store.js';
import { JournalFollower } from '../../../persistence/recovery/recovery.js';
import { snapshotBytes } from '../../../persistence/recovery/snapshot/file.js';
import {
  SNAPSHOT_HEADER_BYTES,
  SNAPSHOT_SUM_BYTES,
  SNAPSHOT_VERSION,
} from '../../../persistence/recovery/snapshot/format.js';
import { Folders, readAll } from '../../support/journal-fixture.js';
import { ReplayExchange } from '../../support/replay-exchange.js';

const folders = new Folders();
afterEach(() => folders.removeAll());

function sha256(pieces: Iterable<string | Uint8Array>): string {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex').slice(0, 32);
}

it('the same commands give the bytes of version 1', async () => {
  const folder = folders.make();
  const exchange = await ReplayExchange.open(folder, 'versions');
  await exchange.run(900);
  for (let i = 0; i < 200; i++) exchange.trade();
  await exchange.settle();
  const { engine, journal } = exchange;
  const snapshot = Buffer.concat([...snapshotBytes(engine, journal.end)]);
  const digest = engine.digest();
  await exchange.sequencer.close();
  const batches = await readAll(folder);
  const records = batches.map((batch) => batch.records);

  expect(
    { FORMAT_VERSION, digest, records: sha256(records) },
    'FORMAT_VERSION of journal/format.ts',
  ).toEqual({
    FORMAT_VERSION: 1,
    digest: 'db33530643299c59',
    records: 'fc7147ed2413a99102f663d05a7ac718',
  });
  expect(
    {
      SNAPSHOT_VERSION,
      state: sha256([snapshot.subarray(SNAPSHOT_HEADER_BYTES, -SNAPSHOT_SUM_BYTES)]),
    },
    'SNAPSHOT_VERSION of snapshot/format.ts',
  ).toEqual({ SNAPSHOT_VERSION: 1, state: '6a145e5466ab9fb9a2bc3614255f4bd7' });
  const { pieces, markets } = historyOf(batches);
  // The numbers of the runs with checksums, then their entries.
  const runs = sha256(pieces.flatMap(({ rows, entries }) => [rows, entries]));
  expect(
    { HISTORY_VERSION, schema: sha256(SCHEMA), runs, markets: sha256([JSON.stringify(markets)]) },
    'HISTORY_VERSION of history/runs/format.ts',
  ).toEqual({
    HISTORY_VERSION: 1,
    schema: '1959b42717fbde05a9076ea646505188',
    runs: '9b0ef16a858c8119f5a4db5eb9c03cce',
    markets: 'a0580bcf7d1135b0287714f6f7209438',
  });
});

/** What one transaction would write. */
function historyOf(batches: readonly JournalBatch[]): HistoryChanges {
  const engine = new Engine();
  const projection = new Projection(engine, emptyHistoryState(), () => {});
  const follower = new JournalFollower(engine, undefined, {
    applied: () => projection.applied(),
    applying: (atMs) => projection.applying(atMs),
  });
  for (const batch of batches) follower.apply(batch);
  return projection.drain();
}
