/** A journal moves from a data folder to PostgreSQL and back, with its chain and its digests. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Engine } from '../../../../engine/engine.js';
import { openJournal } from '../../../../persistence/recovery/data-folder.js';
import { readAddress } from '../../../../persistence/replication/postgres/address.js';
import { PostgresJournal } from '../../../../persistence/replication/postgres/postgres-journal.js';
import { PostgresCluster } from '../../../support/cluster/postgres.js';
import { operate } from '../../../support/folders/operations.js';
import { Folders, readAll, replay, writeJournal } from '../../../support/journal-fixture.js';
import { ReplayExchange } from '../../../support/replay-exchange.js';
import { replayJson, traceOf } from '../../../support/replay-tool.js';

const originals = new Folders();
const folders = new Folders();
let cluster: PostgresCluster;
let original: string;
let exchange: ReplayExchange;

beforeAll(async () => {
  cluster = await PostgresCluster.start(3);
  original = originals.make();
  exchange = await ReplayExchange.open(original, 'move');
  await exchange.run(500);
  await exchange.sequencer.close();
}, 120_000);
beforeEach(() => cluster.dropJournal());
afterEach(() => folders.removeAll());
afterAll(async () => {
  await cluster?.stop();
  originals.removeAll();
});

test('there and back again', async () => {
  const before = traceOf(original);
  const there = await operate('copy', '--from', original, '--to', cluster.url);
  expect(there).toMatchObject({ status: 0, err: '' });
  expect(there.out).toContain(
    `up to sequence ${exchange.engine.sequence}, digest ${exchange.engine.digest()}`,
  );
  expect(traceOf(original)).toEqual(before);
  const back = folders.make();
  expect(await operate('copy', '--from', cluster.url, '--to', back)).toMatchObject({ status: 0 });
  expect(await readAll(back)).toEqual(await readAll(original));
  expect((await replayJson(back, 'verify')).good).toBe(true);
  const engine = new Engine();
  await replay(back, engine);
  expect(engine.digest()).toBe(exchange.engine.digest());
});

test('a copy that broke off is finished; another journal is refused', async () => {
  await operate('copy', '--from', original, '--to', cluster.url);
  const [first] = cluster.nodes;
  await cluster.query(
    first!,
    `DELETE FROM batch WHERE first_sequence > 200; UPDATE writer SET (last_sequence, hash) =
      (SELECT last_sequence, hash FROM batch ORDER BY first_sequence DESC LIMIT 1)`,
  );
  const again = await operate('copy', '--from', original, '--to', cluster.url);
  expect(again).toMatchObject({ status: 0 });
  const other = folders.make();
  await writeJournal(other);
  const refused = await operate('copy', '--from', other, '--to', cluster.url);
  expect(refused.status).toBe(2);
  expect(refused.err).toContain("not the beginning of the source's");
});

test('a database of another version is refused in words', async () => {
  await operate('copy', '--from', original, '--to', cluster.url);
  await cluster.query(cluster.nodes[0]!, 'UPDATE writer SET version = 0');
  const { status, err } = await operate('copy', '--from', cluster.url, '--to', folders.make());
  const refusal = /of version 0; this program reads and writes version 1.*Nothing was changed/;
  expect([status, err]).toEqual([1, expect.stringMatching(refusal)]);
});

test('an exchange that runs is not copied, and a folder that is not empty not written to', async () => {
  const busy = folders.make();
  const journal = await openJournal({ folder: busy });
  const running = await operate('copy', '--from', busy, '--to', cluster.url);
  expect(running.status).not.toBe(0);
  expect(running.err).toContain('is in use');
  await journal.close();
  const full = await operate('copy', '--from', original, '--to', original);
  expect(full).toMatchObject({ status: 2 });
  expect(full.err).toContain('not empty');
});

test('a journal that an exchange leads is not copied, and nobody waits for ever', async () => {
  await operate('copy', '--from', original, '--to', cluster.url);
  const address = readAddress(cluster.url, { passwordFile: null, authorityFile: null });
  const leader = await PostgresJournal.takeOver({ address, isUnreplicated: false });
  const { sequence } = leader.end;
  const copies = await Promise.all([
    operate('copy', '--from', cluster.url, '--to', folders.make()),
    operate('copy', '--from', original, '--to', cluster.url),
  ]);
  for (const { status, err } of copies)
    expect([status, err]).toEqual([2, expect.stringContaining('an exchange leads')]);
  expect(leader.end.sequence).toBe(sequence);
  // The part that exists can still be audited.
  const audited = folders.make();
  const live = await operate('copy', '--live', '--from', cluster.url, '--to', audited);
  expect(live).toMatchObject({ status: 0, err: '' });
  expect(await readAll(audited)).toEqual(await readAll(original));
  expect((await replayJson(audited, 'verify')).good).toBe(true);
  const other = await operate('copy', '--live', '--from', original, '--to', folders.make());
  expect([other.status, other.err]).toEqual([2, expect.stringContaining('--live copies from')]);
  await leader.close();
});

test.each([
  ['postgres://nobody', 'must look like postgres://user@host:port'],
  ['postgres://postgres@127.0.0.1:1/postgres', 'no node of'],
])('a copy to %s is refused in words', async (to, words) => {
  const { status, err } = await operate('copy', '--from', original, '--to', to);
  expect(status).toBe(2);
  expect(err).toContain(words);
});
