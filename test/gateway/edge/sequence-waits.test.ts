/** Waiting for sequences: in order, for a bounded time, and without harm to other waits. */
import { expect, test } from 'vitest';
import { SequenceWaits } from '../../../gateway/http/sequence-waits.js';
import { eventually } from '../../support/eventually.js';

test('whoever names numbers that never come takes no room of the answers that wait', async () => {
  let sequence = 10;
  const waits = new SequenceWaits(() => sequence, 200);
  const outcomes: boolean[] = [];
  const name = () => waits.waitForNamed(2 ** 53 - 1, (isReached) => outcomes.push(isReached));
  for (let i = 0; i < 10_000; i++) name();
  expect(outcomes).toEqual([]);
  name();
  expect(outcomes).toEqual([false]);

  const order: string[] = [];
  for (const at of [11, 12, 13]) waits.wait(at, (isReached) => order.push(`${at} ${isReached}`));
  expect(order).toEqual([]);
  sequence = 12;
  waits.look();
  expect(order).toEqual(['11 true', '12 true']);
  await eventually(() => order.length === 3 && outcomes.length === 10_001);
  expect(order[2]).toBe('13 false');
  expect(outcomes).not.toContain(true);
  // Now there is room.
  name();
  expect(outcomes).toHaveLength(10_001);
  await eventually(() => outcomes.length === 10_002);
});
