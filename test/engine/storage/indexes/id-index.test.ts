/** The index of ids against a plain Map: growth, removal, rows that share a place, and undo. */
import { describe, expect, test } from 'vitest';
import { IdIndex } from '../../../../engine/storage/indexes/id-index.js';
import { UndoLog } from '../../../../engine/storage/undo.js';
import { Random } from '../../../support/workload/random.js';

describe('the index of ids', () => {
  test.each([1, 2, 3])('agrees with a map, seed %i', (seed) => {
    const random = new Random(`${seed}`);
    const undo = new UndoLog();
    /** The id of each row; 0 if the row is free. */
    let ids: number[] = [0];
    const index = new IdIndex(undo, (row) => ids[row]!);
    let model = new Map<number, number>();
    let before: { model: Map<number, number>; ids: number[] } | null = null;
    const find = (id: number) => {
      let row = index.first(id);
      while (row !== 0 && ids[row] !== id) row = index.next(row);
      return row;
    };
    let lastId = 0;
    for (let i = 0; i < 30_000; i++) {
      // Grows and shrinks alternately; some ids are far ahead, in the end beyond 32 bits.
      if (random.chance(i % 10_000 < 7_000 ? 0.7 : 0.3)) {
        lastId += random.chance(0.02) ? random.whole(1, 2 ** 36) : 1;
        const free = ids.indexOf(0, 1);
        const row = free === -1 ? ids.length : free;
        ids[row] = lastId;
        index.add(lastId, row);
        model.set(lastId, row);
      } else if (model.size > 0) {
        const id = random.chance(0.5) ? [...model.keys()][0]! : [...model.keys()].at(-1)!;
        index.remove(id, model.get(id)!);
        ids[model.get(id)!] = 0;
        model.delete(id);
      }
      if (before === null && random.chance(0.002)) {
        undo.begin();
        before = { model: new Map(model), ids: [...ids] };
      } else if (before !== null && random.chance(0.02)) {
        if (random.chance(0.5)) undo.keep();
        else {
          undo.rollBack();
          ({ model, ids } = before);
        }
        before = null;
      }
      if (i % 1_000 !== 0) continue;
      const asked = [...model.keys()];
      for (let id = 1; id < lastId; id += Math.ceil(lastId / 500)) asked.push(id);
      expect(asked.filter((id) => find(id) !== (model.get(id) ?? 0))).toEqual([]);
    }
    expect(model.size).toBeGreaterThan(1_000);
    index.clear();
    expect([...model.keys()].filter((id) => index.first(id) !== 0)).toEqual([]);
  });
});
