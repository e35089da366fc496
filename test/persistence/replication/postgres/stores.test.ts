/**
 * One suite for both stores of the journal (store.ts): the files of a data folder, and PostgreSQL.
 * A real engine's commands go in through the sequencer; the stored batches rebuild the engine.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Engine } from '../../../../engine/engine.js';
import { JournalBatches } from '../../../../persistence/follower/journal-batches.js';
import type { JournalError } from '../../../../persistence/journal/errors.js';
import { GENESIS, MAX_ROW_BYTES } from '../../../../persistence/journal/format.js';
import type { CommitLog, JournalBatch } from '../../../../persistence/journal/store.js';
import { openJournal } from '../../../../persistence/recovery/data-folder.js';
import { JournalFollower } from '../../../../persistence/recovery/recovery.js';
import { PostgresJournal } from '../../../../persistence/replication/postgres/postgres-journal.js';
import { type JournalPlace, openSource } from '../../../../persistence/replication/source.js';
import { Sequencer } from '../../../../persistence/sequencer.js';
import { PostgresCluster } from '../../../support/cluster/postgres.js';
import { Random } from '../../../support/workload/random.js';

const START_MS = 1_763_700_300_000;
const DIGEST = '0123456789abcdef';
let cluster: PostgresCluster;
let folder: string;
beforeAll(async () => {
  cluster = await PostgresCluster.start(1);
}, 120_000);
afterAll(() => cluster?.stop());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'exchange-store-'));
  await cluster.dropJournal();
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Store {
  open(): Promise<CommitLog>;
  place(): JournalPlace;
}

const STORES: Record<string, Store> = {
  'a data folder': { open: () => openJournal({ folder }), place: () => ({ folder }) },
  PostgreSQL: {
    open: () => PostgresJournal.takeOver({ address: cluster.address, isUnreplicated: true }),
    place: () => ({ postgres: cluster.address }),
  },
};

/** Commits batches of a random number of commands; returns the engine. */
async function trade(journal: CommitLog, engine: Engine, batches: number): Promise<void> {
  const random = new Random(`${engine.sequence}`);
  const onFatal = (error: Error) => {
    throw error;
  };
  const now = () => Math.max(START_MS, engine.nowMs) + 1;
  const sequencer = new Sequencer({ engine, journal, now, onFatal });
  for (let i = 0; i < batches; i++) {
    for (let j = random.whole(1, 30); j > 0; j--) {
      const username = `trader-${engine.userCount + 1}`;
      const credential = `hash ${'é'.repeat(random.whole(0, 50))}`;
      const grant = { referralCode: '', grantMicros: random.whole(0, 1e9), partner: null };
      sequencer.submit({ kind: 'register', username, credential, ...grant });
    }
    await new Promise<void>((release) => sequencer.releaseAt(engine.sequence, { release }));
  }
  await sequencer.close();
}

async function readAll(place: JournalPlace, after = GENESIS): Promise<JournalBatch[]> {
  const source = await openSource(place);
  const all: JournalBatch[] = [];
  for await (const batch of source.batches(after)) all.push(batch);
  await source.close();
  return all;
}

describe.each(Object.entries(STORES))('a journal in %s', (_, store) => {
  test('starts empty and rebuilds the engine, also from the middle and over restarts', async () => {
    const engine = new Engine();
    for (let restart = 0; restart < 3; restart++) {
      const journal = await store.open();
      expect(journal.end.sequence).toBe(engine.sequence);
      await trade(journal, engine, 10);
    }
    const source = await openSource(store.place());
    const rebuilt = new Engine();
    const follower = new JournalFollower(rebuilt);
    await follower.follow(source);
    expect(rebuilt.digest()).toBe(engine.digest());
    expect(follower.position).toEqual(await source.end());
    await source.close();
    const all = await readAll(store.place());
    expect(all).toHaveLength(30);
    const { lastSequence: sequence, hash, digest } = all[14]!;
    expect(await readAll(store.place(), { sequence, hash, digest })).toEqual(all.slice(15));
  });

  test('knows the position after each batch, and none within one', async () => {
    const engine = new Engine();
    await trade(await store.open(), engine, 6);
    const ends = new Map(
      (await readAll(store.place())).map((batch) => [batch.lastSequence, batch]),
    );
    const source = await openSource(store.place());
    expect(await source.positionAt(0)).toEqual(GENESIS);
    for (let sequence = 1; sequence <= engine.sequence + 1; sequence++) {
      const batch = ends.get(sequence);
      const expected =
        batch === undefined ? null : { sequence, hash: batch.hash, digest: batch.digest };
      expect(await source.positionAt(sequence)).toEqual(expected);
    }
    await source.close();
  });

  test('single batches are found by any of their sequences', async () => {
    const engine = new Engine();
    await trade(await store.open(), engine, 6);
    const all = await readAll(store.place());
    const batches = new JournalBatches(store.place());
    const read = (sequence: number) =>
      new Promise((done) => batches.read(sequence, { done, isGivenUp: () => false }));
    for (const { hash, records: _, ...places } of all) {
      for (let sequence = places.firstSequence; sequence <= places.lastSequence; sequence++)
        expect(await read(sequence)).toMatchObject({
          answer: { ...places, hash: hash.toString('hex') },
        });
    }
    expect(await read(engine.sequence + 1)).toMatchObject({ status: 'unavailable' });
    await batches.close('it ends');
    expect(await read(1)).toEqual({ status: 'unavailable', reason: 'it ends' });
  });

  test('takes a batch of the largest size, and bytes of every value', async () => {
    const journal = await store.open();
    const records = Buffer.alloc(
      MAX_ROW_BYTES,
      Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
    );
    const batch = { firstSequence: 1, lastSequence: 9, records, digest: DIGEST };
    expect(await new Promise((resolve) => journal.append(batch, resolve))).toBeNull();
    await journal.close();
    const [read] = await readAll(store.place());
    expect(read!.records.equals(records)).toBe(true);
  });

  test.each([
    ['a gap', 2, 3],
    ['no command', 1, 0],
    ['a sequence that is no integer', 1, 2 ** 53],
  ])('refuses %s, and goes on', async (_name, firstSequence, lastSequence) => {
    const journal = await store.open();
    const batch = { records: Buffer.alloc(8), digest: DIGEST };
    expect(() => journal.append({ ...batch, firstSequence, lastSequence }, () => {})).toThrow(
      RangeError,
    );
    const good = { ...batch, firstSequence: 1, lastSequence: 1 };
    const error = await new Promise<JournalError | null>((done) => journal.append(good, done));
    expect(error).toBeNull();
    await journal.close();
    expect(() => journal.append({ ...good, firstSequence: 2, lastSequence: 2 }, () => {})).toThrow(
      'closed',
    );
  });
});
