/**
 * The release queue against a plain sorted list: due items come out by sequence, then in order of
 * arrival.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ReleaseQueue } from '../../../persistence/release-queue.js';
import type { ReleaseTarget } from '../../../persistence/sequencer.js';

it('releases in stable order, however it is filled and emptied', () => {
  const step = fc.oneof(
    fc.record({ add: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ durable: fc.integer({ min: 0, max: 40 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.boolean(), (steps, large) => {
      const queue = new ReleaseQueue();
      let waiting: { sequence: number; target: ReleaseTarget }[] = [];
      const add = (sequence: number) => {
        const target = { release: () => {} };
        queue.add(sequence, target);
        waiting.push({ sequence, target });
      };
      if (large) for (let i = 0; i < 1_500; i++) add(1 + (i % 40));
      for (const entry of steps) {
        if ('add' in entry) {
          add(entry.add);
          continue;
        }
        waiting.sort((a, b) => a.sequence - b.sequence);
        const due = waiting.filter(({ sequence }) => sequence <= entry.durable);
        waiting = waiting.filter(({ sequence }) => sequence > entry.durable);
        for (const { target } of due) expect(queue.take(entry.durable)).toBe(target);
        expect(queue.take(entry.durable)).toBeNull();
      }
      expect(queue.length).toBe(waiting.length);
    }),
    { numRuns: 60 },
  );
});
