/**
 * Single batches of a journal on PostgreSQL, for GET /digest and the events of markets: after their
 * node is lost, too, and from a standby that is behind.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PostgresCluster } from '../../../../bench/cluster/postgres.js';
import { JournalBatches } from '../../../../persistence/follower/journal-batches.js';
import type { JournalBatch } from '../../../../persistence/journal/store.js';
import { PostgresJournal } from '../../../../persistence/replication/postgres/postgres-journal.js';
import { append } from '../../../../persistence/tools/operations/copy-journal.js';
import { Folders, writeJournal } from '../../../support/journal-fixture.js';

const SIZE = { batchCount: 6, batchSize: 10 };
const folders = new Folders();
let cluster: PostgresCluster;
let journal: PostgresJournal;
let batches: JournalBatches;
let written: JournalBatch[];

beforeAll(async () => {
  cluster = await PostgresCluster.start();
  const { address } = cluster;
  journal = await PostgresJournal.takeOver({ address, isUnreplicated: false });
  written = (await writeJournal(folders.make(), SIZE)).batches;
  for (const batch of written.slice(0, 4)) await append(journal, batch);
  batches = new JournalBatches({ postgres: address, prefersStandby: true });
}, 120_000);
afterAll(async () => {
  await batches?.close('the test has ended');
  await journal?.close();
  await cluster?.stop();
  folders.removeAll();
});

/** On both standbys. */
async function onStandbys(sql: string): Promise<void> {
  for (const node of cluster.standbys) await cluster.query(node, sql);
}

test('has the batch that holds a sequence, and answers once', async () => {
  expect(await batches.find(15)).toEqual(written[1]);
  const answers: unknown[] = [];
  await new Promise<void>((resolve) => {
    const done = (answer: unknown) => {
      answers.push(answer);
      resolve();
    };
    batches.read(40, { done, isGivenUp: () => false });
  });
  const { firstSequence, lastSequence, digest, hash } = written[3]!;
  const answer = { firstSequence, lastSequence, digest, hash: hash.toString('hex') };
  expect(answers).toEqual([{ status: 'ok', sequence: 40, answer }]);
});

test('goes on with another connection when its own is lost', async () => {
  await onStandbys(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
  expect(await batches.find(1)).toEqual(written[0]);
});

test('waits a moment for a standby that has not replayed what was committed', async () => {
  await onStandbys('SELECT pg_wal_replay_pause()');
  await append(journal, written[4]!);
  const found = batches.find(50);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await onStandbys('SELECT pg_wal_replay_resume()');
  expect(await found).toEqual(written[4]);
  // Not for ever.
  expect(await batches.find(51)).toBeNull();
});
