/**
 * Results of keyed commands in the history: each comes back as the engine made it, until its key is
 * forgotten.
 */
import { afterEach, expect, test } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { IDEMPOTENCY_KEPT_MS } from '../../../engine/interface/limits.js';
import { MAX_RESULT_LENGTH } from '../../../engine/interface/results.js';
import { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { openHistory } from '../../../persistence/history/opening.js';
import { HistoryFiles } from '../../../persistence/history/parts/files.js';
import {
  emptyHistoryState,
  type HistoryChanges,
  Projection,
} from '../../../persistence/history/projection.js';
import { HistoryReads } from '../../../persistence/history/reads.js';
import { HistoryDamage } from '../../../persistence/history/rows.js';
import { checksumOf } from '../../../persistence/history/runs/format.js';
import { PendingResults, resultIn } from '../../../persistence/history/runs/keyed-results.js';
import { HistoryStore } from '../../../persistence/history/store.js';
import { createPrivateFolder } from '../../../persistence/storage/files.js';
import { query } from '../../../persistence/storage/sqlite.js';
import { at, registration } from '../../support/engine-support.js';
import { Folders } from '../../support/journal-fixture.js';
import { Random } from '../../support/workload/random.js';

const folders = new Folders();
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  folders.removeAll();
});

/** A history that follows an engine, as the follower's session does. */
class Followed {
  readonly engine = new Engine();
  readonly results = new Map<number, number[]>();
  private readonly projection = new Projection(this.engine, emptyHistoryState(), () => {});

  private constructor(
    readonly folder: string,
    readonly store: HistoryStore,
    private readonly reads: HistoryReads,
  ) {}

  static async start(): Promise<Followed> {
    const folder = folders.make();
    await createPrivateFolder(folder);
    const store = await HistoryStore.open(folder);
    const files = await HistoryFiles.open(folder, store.parts);
    closers.push(
      () => store.close(),
      () => files.close(),
    );
    const { lists } = await openHistory(store);
    return new Followed(folder, store, new HistoryReads(files, { lists, openMarket: () => null }));
  }

  apply(command: Parameters<Engine['apply']>[0], atMs: number): void {
    const { engine, projection } = this;
    projection.applying(atMs);
    engine.apply(command, atMs);
    projection.applied();
    const { values, length } = engine.result;
    if (engine.remembered)
      this.results.set(engine.sequence, Array.from(values.subarray(0, length)));
  }

  drained(): HistoryChanges {
    return this.projection.drain();
  }

  commit(): Promise<void> {
    const end = {
      sequence: this.engine.sequence,
      hash: Buffer.alloc(32, 7),
      atMs: this.engine.nowMs,
    };
    return this.store.commit(this.projection.drain(), end);
  }

  async read(sequence: number): Promise<number[] | null> {
    const found = await this.reads.keyedResult({ kind: 'keyedResult', sequence })();
    return found === null ? null : Array.from(found);
  }

  async rows(): Promise<number> {
    const [row] = await query<{ n: number }>(
      this.store.catalogue.database,
      'SELECT count(*) AS n FROM keyedResult',
    );
    return row!.n;
  }
}

const asked = (userId: number, key: string | null) =>
  ({ kind: 'cancelAll', userId, marketId: 1, idempotencyKey: key }) as const;

test('the result of a new key is there after its transaction, until the engine forgets the key', async () => {
  const followed = await Followed.start();
  followed.apply(registration('ada', 0), at(0));
  const random = new Random('keys');
  for (let i = 0; i < 2_000; i++) {
    followed.apply(asked(1, random.chance(0.3) ? null : `k${random.whole(1, 1_500)}`), at(i));
    if (random.chance(0.01)) await followed.commit();
  }
  await followed.commit();
  const { engine, results } = followed;
  expect(results.size).toBeGreaterThan(500);
  for (let sequence = 0; sequence <= engine.sequence + 1; sequence++)
    expect(await followed.read(sequence)).toEqual(results.get(sequence) ?? null);
  // The keys of the first second are forgotten; a row goes when all of its keys are forgotten.
  followed.apply({ kind: 'advanceTime' }, at(999) + IDEMPOTENCY_KEPT_MS);
  const before = await followed.rows();
  await followed.commit();
  expect(await followed.rows()).toBeLessThan(before);
  for (const [sequence, result] of results)
    if (sequence >= engine.oldestKeySequence) expect(await followed.read(sequence)).toEqual(result);
  expect(await followed.read(2)).toBe(null);
  for (let i = 0; i < 3; i++)
    followed.apply({ kind: 'advanceTime' }, at(2_000) + IDEMPOTENCY_KEPT_MS);
  expect(engine.oldestKeySequence).toBe(0);
  followed.apply(asked(1, 'new'), engine.nowMs);
  await followed.commit();
  expect(await followed.rows()).toBe(1);
});

test('results of transactions that a crash took from the part are written again, in other rows', async () => {
  const followed = await Followed.start();
  const { store, folder } = followed;
  followed.apply(registration('ada', 0), at(0));
  const apply = (from: number, to: number) => {
    for (let i = from; i <= to; i++) followed.apply(asked(1, `k${i}`), at(i));
  };
  apply(1, 10);
  await followed.commit();
  const { sequence } = store.progress;
  for (const [from, to] of [
    [11, 15],
    [16, 25],
  ] as const) {
    apply(from, to);
    const changes = followed.drained();
    await store.catalogue.storeResults(changes);
  }
  expect(await followed.rows()).toBe(3);
  await store.close();
  const again = await HistoryStore.open(folder);
  closers[0] = () => again.close();
  expect(again.progress.sequence).toBe(sequence);
  const rows = await query(again.catalogue.database, 'SELECT sequence FROM keyedResult');
  expect(rows).toEqual([{ sequence: 2 }]);
});

test('a result of any length comes back, and a row that was changed is damage', async () => {
  const pending = new PendingResults();
  const lengths = [5, 30, 2_500, 1, MAX_RESULT_LENGTH, 7, 1_900, 1_900, 300];
  const results = lengths.map((length, i) =>
    Array.from({ length }, (_, n) => (n % 3 === 0 ? 2 ** 31 - 1 + n : 2 ** (n % 53) + i)),
  );
  for (const [i, result] of results.entries()) {
    const buffer = new NumberBuffer();
    buffer.write(...result);
    pending.add(2 ** 40 + 10 * i, buffer);
  }
  const rows = pending.drain().map(({ sequence: key, results: value }) => {
    return { key, value, checksum: checksumOf(`keyedResult ${key}`, value) };
  });
  expect(pending.drain()).toEqual([]);
  expect(rows.length).toBeGreaterThan(3);
  for (const [i, result] of results.entries()) {
    const sequence = 2 ** 40 + 10 * i;
    const row = rows.findLast(({ key }) => key <= sequence)!;
    expect(Array.from(resultIn(row, sequence)!)).toEqual(result);
    expect(resultIn(row, sequence + 1)).toBe(null);
    const value = Buffer.from(row.value);
    value.writeUInt8(row.value[i]! ^ 1, i);
    expect(() => resultIn({ ...row, value }, sequence)).toThrow(HistoryDamage);
  }
});
