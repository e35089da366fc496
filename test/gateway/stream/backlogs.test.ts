/**
 * Unsent data of stream readers: a limit for each, a limit for all, and closed connections count
 * until they are released.
 */
import { expect, test } from 'vitest';
import { Backlogs } from '../../../gateway/stream/backlogs.js';

interface Waiting {
  backlogBytes: number;
  end: () => void;
  cutOff: () => void;
}

function setUp() {
  const clock = { nowMs: 0 };
  const backlogs = new Backlogs({ backlogBytes: 100, backlogBytesInAll: 250 }, () => clock.nowMs);
  const ended: string[] = [];
  const readers = new Map<string, Waiting>();
  const read = (name: string, backlogBytes: number): void => {
    const close = (how: string) => {
      ended.push(`${name} ${how}`);
      reader.backlogBytes = 0;
      readers.delete(name);
    };
    const reader: Waiting = {
      backlogBytes,
      end: () => {
        backlogs.addClosed(reader.backlogBytes);
        close('ended');
      },
      cutOff: () => close('cut off'),
    };
    readers.set(name, reader);
  };
  return { clock, backlogs, ended, readers, read };
}

test('closes a reader beyond its limit, with a code', () => {
  const { backlogs, ended, readers, read } = setUp();
  read('at the limit', 100);
  read('beyond', 101);
  backlogs.check(readers.values());
  expect(ended).toEqual(['beyond ended']);
  expect(backlogs.cutOffCount).toBe(0);
});

test('beyond the total limit, cuts off the readers furthest behind, and no more than needed', () => {
  const { backlogs, ended, readers, read } = setUp();
  for (const [name, bytes] of Object.entries({ a: 60, b: 90, c: 10, d: 80, e: 70 }))
    read(name, bytes);
  backlogs.check(readers.values());
  expect(ended).toEqual(['b cut off']);
  expect(backlogs.bytes(readers.values())).toBe(220);
  read('f', 95);
  read('g', 100);
  backlogs.check(readers.values());
  expect(ended).toEqual(['b cut off', 'g cut off', 'f cut off']);
  expect(backlogs.cutOffCount).toBe(3);
});

test('counts the backlog of a closed connection until it is released', () => {
  const { clock, backlogs, ended, readers, read } = setUp();
  read('slow', 180);
  backlogs.check(readers.values());
  expect(ended).toEqual(['slow ended']);
  read('next', 90);
  backlogs.check(readers.values());
  expect(ended).toEqual(['slow ended', 'next cut off']);
  expect(backlogs.bytes(readers.values())).toBe(180);
  clock.nowMs = 60_000;
  expect(backlogs.bytes(readers.values())).toBe(0);
  read('last', 90);
  backlogs.check(readers.values());
  expect(readers.size).toBe(1);
});
