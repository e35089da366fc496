/**
 * The index of hashes against a plain Map: growth spread over many additions, removal from either
 * table, numbers of one hash, and undo of what happened during growth.
 */
import { expect, test } from 'vitest';
import { HashIndex, mix32 } from '../../../../engine/storage/indexes/hash-index.js';
import { UndoLog } from '../../../../engine/storage/undo.js';
import { Random } from '../../../support/workload/random.js';

function allOf(index: HashIndex, hash: number): number[] {
  const found: number[] = [];
  for (let number = index.first(hash); number !== 0; number = index.next(hash, number))
    found.push(number);
  return found.sort((a, b) => a - b);
}

test.each([1, 2, 3])('agrees with a map, seed %i', (seed) => {
  const random = new Random(`${seed}`);
  const undo = new UndoLog();
  const index = new HashIndex(undo);
  /** The hash of each number. */
  let hashes = new Map<number, number>();
  let before: Map<number, number> | null = null;
  const check = () => {
    const expected = new Map<number, number[]>();
    for (const [number, hash] of hashes)
      expected.set(hash, [...(expected.get(hash) ?? []), number]);
    for (const none of [0, 7, -1]) if (!expected.has(none)) expected.set(none, []);
    for (const [hash, numbers] of expected) {
      const found = allOf(index, hash);
      // `expect` is slow, so it is only called to report a difference.
      if (`${found}` !== `${numbers.sort((a, b) => a - b)}`) expect(found, `${hash}`).toBe(numbers);
    }
  };
  for (let i = 1; i <= 60_000; i++) {
    // Grows and shrinks alternately; some hashes are far from random.
    if (random.chance(i % 20_000 < 14_000 ? 0.7 : 0.3)) {
      const hash = random.chance(0.6) ? mix32(i) : random.whole(-50, 50) * 65_536;
      index.add(hash, i);
      hashes.set(i, hash);
    } else if (hashes.size > 0) {
      const [number, hash] = [...hashes.entries()][random.whole(0, Math.min(50, hashes.size - 1))]!;
      index.remove(hash, number);
      hashes.delete(number);
    }
    if (before === null && random.chance(0.002)) {
      undo.begin();
      before = new Map(hashes);
    } else if (before !== null && random.chance(0.02)) {
      if (random.chance(0.5)) undo.keep();
      else {
        undo.rollBack();
        hashes = before;
      }
      before = null;
    }
    if (i % 4_000 === 0) check();
  }
  check();
  expect(hashes.size).toBeGreaterThan(5_000);
  expect(() => index.remove(9, 70_000)).toThrow('does not have 70000');
  index.clear(20_000);
  for (const hash of hashes.values()) if (index.first(hash) !== 0) expect(hash).toBe('gone');
  hashes = new Map([[8, mix32(7)]]);
  index.add(mix32(7), 8);
  check();
});

test('mix32 is one-to-one in the low word and depends on the high one', () => {
  const lows = Array.from({ length: 10_000 }, (_, low) => mix32(low));
  expect(new Set(lows).size).toBe(lows.length);
  expect(new Set([0, 1, 2, 3].map((high) => mix32(5, high))).size).toBe(4);
});
