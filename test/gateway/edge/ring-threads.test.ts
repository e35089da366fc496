/**
 * A ring between two threads that both work in bursts and rest: every frame arrives once, in order
 * and whole. The test would hang after a missed wake-up.
 */
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { RingReader, RingWriter, ringMemory } from '../../../gateway/edge/link/ring.js';
import { compiledFile } from '../../../persistence/storage/program-folder.js';
import { eventually } from '../../support/eventually.js';

const FRAMES = 60_000;
const RING = compiledFile('gateway/edge/link/ring.js');

/** Writes numbered frames with bytes derived from the number, sometimes too fast. */
const WRITER = `
const { parentPort, workerData } = require('node:worker_threads');
import(workerData.ring).then(({ RingWriter, FRAME_BYTES_MAX }) => {
  const ring = new RingWriter(workerData.memory, () => parentPort.postMessage('wake'));
  const head = Buffer.alloc(8);
  const body = Buffer.alloc(FRAME_BYTES_MAX - 8);
  let number = 0;
  const burst = () => {
    for (let i = (number * 7919) % 400; i >= 0 && number < workerData.frames; i--, number++) {
      const length = number % 997 === 0 ? body.length : (number * 131) % 700;
      head.writeUInt32LE(number, 0);
      head.writeUInt32LE(length, 4);
      ring.write(head, 8, body.subarray(0, length).fill(number & 0xff));
    }
    if (number === workerData.frames) return;
    if (ring.waitingBytes > 2 ** 21) return;
    if (number % 5 === 0) setTimeout(burst, 1);
    else setImmediate(burst);
  };
  parentPort.on('message', (message) => {
    if (message === 'end') parentPort.close();
    const wasFull = ring.waitingBytes > 2 ** 21;
    ring.retry();
    if (wasFull && ring.waitingBytes <= 2 ** 21) burst();
  });
  burst();
});`;

test(`${FRAMES} frames between two threads`, async () => {
  const memory = ringMemory();
  const workerData = { memory, ring: RING, frames: FRAMES };
  const worker = new Worker(WRITER, { eval: true, workerData });
  let wakes = 0;
  const reader = new RingReader(memory, () => {
    wakes++;
    worker.postMessage('wake');
  });
  let received = 0;
  let problem: unknown = null;
  worker.on('error', (error) => (problem = error));
  const frame = (start: number, end: number) => {
    const { bytes } = reader;
    const length = bytes.readUInt32LE(start + 4);
    const fill = received & 0xff;
    const isWhole =
      bytes.readUInt32LE(start) === received &&
      end - start === 8 + length &&
      (length === 0 || (bytes[start + 8] === fill && bytes[end - 1] === fill));
    if (!isWhole)
      problem ??= new Error(`frame ${received} arrived as ${bytes.readUInt32LE(start)}`);
    received++;
  };
  let isPlanned = false;
  const look = () => {
    isPlanned = false;
    const isBusy = reader.read(frame, 100_000);
    if (isPlanned || (!isBusy && reader.sleep())) return;
    isPlanned = true;
    if (received % 3 === 0) setTimeout(look, 1);
    else setImmediate(look);
  };
  worker.on('message', () => {
    if (!isPlanned) look();
  });
  look();
  await eventually(() => received === FRAMES || problem !== null);
  worker.postMessage('end');
  await worker.terminate();
  expect(problem).toBeNull();
  expect(received).toBe(FRAMES);
  expect(reader.read(frame)).toBe(false);
  // The ring was full, so the writer had to wait for room.
  expect(wakes).toBeGreaterThan(0);
});

test('hands over no more than asked for in a turn, and the rest in the next', () => {
  const memory = ringMemory();
  const writer = new RingWriter(memory, () => {});
  const reader = new RingReader(memory, () => {});
  for (let i = 0; i < 100; i++) writer.write(Buffer.alloc(5), 5, Buffer.alloc(95));
  const turns: number[] = [];
  for (let count = 0; reader.read(() => count++, 1_000); count = 0) turns.push(count);
  expect(turns).toEqual(new Array(10).fill(10));
});
