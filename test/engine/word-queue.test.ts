/** The queue of words against a plain array, over its pages and where positions wrap around. */
import { expect, test } from 'vitest';
import { Random } from '../../bench/workload/random.js';
import { WordQueue } from '../../engine/storage/word-queue.js';

const POSITIONS = 2 ** 30;
const PAGE = 2 ** 16;

test('has the words that were added, one by one or into a page, and not dropped, in order, and none moves', () => {
  const queue = new WordQueue();
  queue.start = POSITIONS - 3 * PAGE;
  queue.end = queue.start;
  const random = new Random('5');
  let dropped = 0;
  let pushed = 0;
  const wordOf = (index: number): number => Math.imul(index + 1, 0x9e3779b1);
  for (let round = 0; round < 60; round++) {
    for (let left = random.whole(0, 20_000); left > 0; left--) queue.push(wordOf(pushed++));
    // Sometimes exactly as many as the page has room for, so that it is full afterwards.
    const rest = PAGE - queue.placeOfEnd;
    const some = random.chance(0.3) ? rest : random.whole(1, 40_000);
    const page = queue.roomInPage(some);
    expect(page !== null).toBe(some <= rest);
    if (page !== null) {
      const place = queue.placeOfEnd;
      for (let i = 0; i < some; i++) page[place + i] = wordOf(pushed++);
      queue.extend(place + some);
    }
    const count = random.whole(0, pushed - dropped);
    if (random.chance(0.7)) {
      queue.drop(count);
      dropped += count;
    }
    expect(queue.length).toBe(pushed - dropped);
    for (let i = 0; i < 200 && dropped < pushed; i++) {
      const index = random.whole(dropped, pushed - 1);
      const position = queue.after(queue.start, index - dropped);
      if (queue.get(position) !== wordOf(index)) expect(queue.get(position)).toBe(wordOf(index));
      expect(queue.distance(queue.start, position)).toBe(index - dropped);
    }
  }
  expect(pushed).toBeGreaterThan(4 * PAGE);
  expect(queue.end).toBeLessThan(POSITIONS / 2);
  const position = queue.after(queue.end, -1);
  queue.push(1);
  queue.set(position, 7);
  expect([queue.get(position), queue.get(queue.after(position, 1))]).toEqual([7, 1]);
});
