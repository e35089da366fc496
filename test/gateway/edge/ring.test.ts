/** The rings between threads: order, wrapping, waiting, and waking, within one thread. */
import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { Random } from '../../../bench/workload/random.js';
import {
  FRAME_BYTES_MAX,
  RingReader,
  RingWriter,
  ringMemory,
} from '../../../gateway/edge/link/ring.js';
import { SEED } from '../../support/extent.js';

let memory: SharedArrayBuffer;
let writer: RingWriter;
let reader: RingReader;
let readerWoken: number;
let writerWoken: number;

beforeEach(() => {
  memory = ringMemory();
  readerWoken = 0;
  writerWoken = 0;
  writer = new RingWriter(memory, () => readerWoken++);
  reader = new RingReader(memory, () => writerWoken++);
});

function readAll(): string[] {
  const frames: string[] = [];
  reader.read((start, end) => frames.push(reader.bytes.toString('latin1', start, end)));
  return frames;
}

const head = Buffer.from('head ');

test('hands over each frame once and in order, whatever the sizes, however often it wraps', () => {
  const random = new Random(SEED);
  const expected: string[] = [];
  const received: string[] = [];
  let bytes = 0;
  for (let i = 0; bytes < 8_000_000; i++) {
    const length = random.chance(0.05)
      ? random.whole(0, FRAME_BYTES_MAX - 5)
      : random.whole(0, 900);
    const body = Buffer.alloc(length, `${i};`);
    expected.push(`head ${body.toString('latin1')}`);
    // The memory of a lent body is used again at once.
    writer.write(head, head.length, body);
    body.fill('!');
    bytes += length;
    if (random.chance(0.25)) received.push(...readAll());
    if (random.chance(0.1)) writer.retry();
    if (expected.length >= 200) {
      drain(received);
      expect(received).toEqual(expected);
      received.length = 0;
      expected.length = 0;
    }
  }
});

function drain(received: string[]): void {
  do {
    received.push(...readAll());
    writer.retry();
  } while (writer.waitingBytes > 0);
  received.push(...readAll());
}

test('keeps what does not fit, and is woken when there is room', () => {
  const body = Buffer.alloc(FRAME_BYTES_MAX - head.length, 'x');
  for (let i = 0; i < 8; i++) writer.write(head, head.length, body);
  expect(writer.waitingBytes).toBeGreaterThan(3 * FRAME_BYTES_MAX);
  expect(readAll().length).toBeGreaterThanOrEqual(3);
  expect(writerWoken).toBe(1);
  const rest: string[] = [];
  drain(rest);
  expect(writer.waitingBytes).toBe(0);
  expect(() => writer.write(head, head.length, Buffer.alloc(FRAME_BYTES_MAX))).toThrow('too large');
});

test('hands over no more than asked for in a turn, and the rest in the next', () => {
  for (let i = 0; i < 100; i++) writer.write(head, head.length, Buffer.alloc(95));
  const turns: number[] = [];
  let count = 0;
  while (reader.read(() => count++, 1_000)) {
    turns.push(count);
    count = 0;
  }
  expect(turns).toEqual(new Array(10).fill(10));
});

test('wakes a reader that sleeps, once, and none that is awake', async () => {
  expect(reader.sleep()).toBe(true);
  writer.write(head, head.length);
  writer.write(head, head.length);
  await setImmediate();
  expect(readerWoken).toBe(1);
  expect(reader.sleep()).toBe(false);
  expect(readAll()).toHaveLength(2);
  writer.write(head, head.length);
  await setImmediate();
  expect(readerWoken).toBe(1);
  expect(readAll()).toEqual(['head ']);
  expect(reader.sleep()).toBe(true);
});
