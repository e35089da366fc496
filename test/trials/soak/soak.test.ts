/** The trial `soak` notices memory that grows, and nothing else. */
import { expect, test } from 'vitest';
import { Random } from '../../support/workload/random.js';
import { judgeLevel, type Sample } from './level.js';

const MIB = 2 ** 20;
/** Ten minutes, one sample a second: a noisy saw-tooth, as garbage collection causes it. */
const series = (growthPerSecond: (second: number) => number): Sample[] => {
  const random = new Random('memory');
  let base = 300 * MIB;
  return Array.from({ length: 600 }, (_, second) => {
    base += growthPerSecond(second);
    const garbage = (second % 17) * 4 * MIB;
    return { atMs: second * 1_000, value: base + garbage + random.whole(0, 6 * MIB) };
  });
};
const level = (growthPerSecond: (second: number) => number, kind: 'heap' | 'resident' = 'heap') =>
  judgeLevel(kind, series(growthPerSecond))!.isLevel;

test('noise, garbage, and memory filled during the warm-up are no growth', () => {
  expect(level(() => 0)).toBe(true);
  expect(level((second) => (second < 280 ? MIB : 0))).toBe(true);
});

test('fifty bytes per request at 2,000 requests per second are', () => {
  expect(level(() => 2_000 * 50)).toBe(false);
});

test('of what the process has of the machine a tenth is none', () => {
  const megabytes = (count: number) => () => (count * MIB) / 300;
  expect(level(megabytes(25), 'resident')).toBe(true);
  expect(level(megabytes(50), 'resident')).toBe(false);
});

test('too few samples are not judged', () => {
  expect(judgeLevel('heap', series(() => MIB).slice(0, 30))).toBe(null);
});
