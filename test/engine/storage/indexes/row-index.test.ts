/**
 * The row index against a plain Map: growth spread over many operations, removal from either table,
 * and undo of what happened during growth.
 */
import { describe, expect, test } from 'vitest';
import { RowIndex } from '../../../../engine/storage/indexes/row-index.js';
import { UndoLog } from '../../../../engine/storage/undo.js';
import { Random } from '../../../support/workload/random.js';

/** A test key as the two integers of the index. */
const low = (key: number) => key | 0;
const high = (key: number) => Math.floor(key / 2 ** 32);
const get = (index: RowIndex, key: number) => index.get(low(key), high(key));

/** `expect` is slow; here it only says what differs. */
function expectRow(index: RowIndex, key: number, row: number): void {
  if (get(index, key) !== row) expect(get(index, key), `${key}`).toBe(row);
}

describe('the index of rows', () => {
  test.each([1, 2, 3])('agrees with a map, seed %i', (seed) => {
    const random = new Random(`${seed}`);
    const undo = new UndoLog();
    const index = new RowIndex(undo);
    let model = new Map<number, number>();
    let before: Map<number, number> | null = null;
    const key = () =>
      random.pick([
        random.whole(1, 6_000),
        2 ** 40 + random.whole(1, 6_000),
        random.whole(1, 50) * 2 ** 32,
      ]);
    for (let i = 0; i < 60_000; i++) {
      const one = key();
      // Grows and shrinks alternately.
      const adds = random.chance(i % 20_000 < 14_000 ? 0.75 : 0.25);
      if (adds && !model.has(one)) {
        index.insert(low(one), high(one), i + 1);
        model.set(one, i + 1);
      } else if (!adds && model.has(one)) {
        index.remove(low(one), high(one));
        model.delete(one);
      }
      const other = key();
      expectRow(index, other, model.get(other) ?? 0);
      if (before === null && random.chance(0.002)) {
        undo.begin();
        before = new Map(model);
      } else if (before !== null && random.chance(0.02)) {
        if (random.chance(0.5)) undo.keep();
        else {
          undo.rollBack();
          model = before;
        }
        before = null;
      }
      if (i % 5_000 !== 0) continue;
      for (const [known, row] of model) expectRow(index, known, row);
      for (const none of [0, -1, 7_000, 2 ** 40]) if (!model.has(none)) expectRow(index, none, 0);
    }
    index.clear(20_000);
    for (const known of model.keys()) expectRow(index, known, 0);
    index.insert(7, 0, 8);
    expect(index.get(7, 0)).toBe(8);
    expect(() => index.remove(9, 1)).toThrow('no key 9, 1');
  });
});
