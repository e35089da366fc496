/**
 * The turns of reads: one query at a time, first for the reader with the fewest turns, and none for
 * a read that was given up. A few turns find an order's end, however long it rested.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { marketIdOf, TimeInForce } from '../../../engine/interface/domain.js';
import { prepareAnswer } from '../../../persistence/history/answers.js';
import {
  FairReadScheduler,
  ReadStopped,
  type RunQuery,
} from '../../../persistence/history/fair-read-scheduler.js';
import { openHistory } from '../../../persistence/history/opening.js';
import { HistoryFiles } from '../../../persistence/history/parts/files.js';
import { HistoryReads } from '../../../persistence/history/reads.js';
import { HistoryStore } from '../../../persistence/history/store.js';
import { journalOf, startFollower } from '../../support/follower-fixture.js';
import { Folders } from '../../support/journal-fixture.js';
import {
  buyOrder,
  observedPrice,
  registration,
  WINDOW_START_MS,
} from '../../support/workload/open-market.js';

describe('the turns of reads', () => {
  /** Takes `count` turns, one after another, and notes each in `order`. */
  async function takeTurns(runQuery: RunQuery, name: string, count: number, order: string[]) {
    for (let i = 0; i < count; i++)
      await runQuery(async () => {
        await Promise.resolve();
        order.push(name);
      });
  }

  it('go to a new reader before one that has had many', async () => {
    const scheduler = new FairReadScheduler();
    const order: string[] = [];
    const long = ['a', 'b', 'c'].map((name) =>
      takeTurns(
        scheduler.of(name, () => false),
        name,
        300,
        order,
      ),
    );
    while (order.length < 600) await new Promise(setImmediate);
    const before = order.length;
    await takeTurns(
      scheduler.of('d', () => false),
      'd',
      20,
      order,
    );
    // Each of its turns waits for the turn in progress.
    expect(order.lastIndexOf('d') - before).toBeLessThan(45);
    await Promise.all(long);
    expect(order.length).toBe(920);
  });

  it('end when the read is given up, and go on for others', async () => {
    const scheduler = new FairReadScheduler();
    const order: string[] = [];
    const isStopped = () => order.filter((name) => name === 'a').length >= 3;
    const stopped = takeTurns(scheduler.of('a', isStopped), 'a', 100, order);
    const other = takeTurns(
      scheduler.of('b', () => false),
      'b',
      10,
      order,
    );
    await expect(stopped).rejects.toThrow(ReadStopped);
    await other;
    expect(order.filter((name) => name === 'b').length).toBe(10);
  });
});

describe('an order that rested', () => {
  const folders = new Folders();
  afterEach(() => folders.removeAll());

  it('is found complete in a few queries, whatever its account did meanwhile', async () => {
    const marketId = marketIdOf(0, WINDOW_START_MS);
    const cancel = { userId: 1, idempotencyKey: null, marketId };
    const commands: { command: Command; atMs: number }[] = [];
    const add = (command: Command) => commands.push({ command, atMs: WINDOW_START_MS });
    add({ kind: 'listAsset', symbol: 'BTC' });
    add(observedPrice(WINDOW_START_MS));
    add(registration(1, 1_000_000_000_000));
    const terms = { sizeLots: 10_000, timeInForce: TimeInForce.GTC };
    const order = (priceTicks: number) => buyOrder({ userId: 1, marketId, priceTicks, ...terms });
    add(order(100));
    for (let i = 0; i < 6_000; i++) {
      add(order(200));
      add({ kind: 'cancel', ...cancel, orderId: i + 2 });
    }
    add({ kind: 'cancel', ...cancel, orderId: 1 });
    const folder = folders.make();
    await journalOf(folder, commands);
    const follower = startFollower(folder, commands.length);
    await follower.read({ kind: 'userTrades', userId: 1, limit: 1, cursor: null });
    await follower.close();
    const engine = new Engine();
    for (const { command, atMs } of commands) engine.apply(command, atMs);
    expect(engine.orders(1)).toEqual([]);
    const store = await HistoryStore.open(folder);
    const { lists } = await openHistory(store);
    const files = await HistoryFiles.open(folder, store.parts);
    let queries = 0;
    const runQuery: RunQuery = (query) => {
      queries++;
      return query();
    };
    const reads = new HistoryReads(files, { lists, openMarket: () => null }, runQuery);
    const request = { kind: 'userOrder', userId: 1, orderId: 1 } as const;
    const found = await prepareAnswer(engine, reads, request)();
    expect(found).toMatchObject({ orderId: 1, filledLots: 0, originalLots: 10_000, end: 3 });
    expect(queries).toBeLessThan(30);
    await files.close();
    await store.close();
  });
});
