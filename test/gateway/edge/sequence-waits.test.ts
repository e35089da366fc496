/** Waits for sequences: in order, for a limited time, and without harm to other waits. */
import { expect, test } from 'vitest';
import {
  NAMED_MAX,
  NAMED_MAX_OF_ONE,
  SequenceWaits,
} from '../../../gateway/http/sequence-waits.js';
import { eventually } from '../../support/eventually.js';

test('whoever names numbers that never come takes no room of the answers that wait', async () => {
  let sequence = 10;
  const waits = new SequenceWaits(() => sequence, 200);
  const outcomes: boolean[] = [];
  const name = (reader: number) =>
    waits.waitForNamed(2 ** 53 - 1, reader, (isReached) => outcomes.push(isReached));
  for (let i = 0; i < NAMED_MAX_OF_ONE; i++) name(0);
  expect(outcomes).toEqual([]);
  // One client leaves room for others.
  name(0);
  expect(outcomes).toEqual([false]);
  for (let i = NAMED_MAX_OF_ONE; i < NAMED_MAX; i++) name(i);
  expect(outcomes).toEqual([false]);
  name(1);
  expect(outcomes).toEqual([false, false]);

  const order: string[] = [];
  for (const at of [11, 12, 13]) waits.wait(at, (isReached) => order.push(`${at} ${isReached}`));
  expect(order).toEqual([]);
  sequence = 12;
  waits.look();
  expect(order).toEqual(['11 true', '12 true']);
  await eventually(() => order.length === 3 && outcomes.length === NAMED_MAX + 2);
  expect(order[2]).toBe('13 false');
  expect(outcomes).not.toContain(true);
  // Now there is room.
  name(0);
  expect(outcomes).toHaveLength(NAMED_MAX + 2);
  await eventually(() => outcomes.length === NAMED_MAX + 3);
});
