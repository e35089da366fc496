/**
 * Loaded into every thread of the exchange before its program (`--import`): records how long the
 * thread's event loop stood still, and how much of that time the thread computed and waited for a
 * processor.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

export interface StandStill {
  thread: string;
  /** The end of the stand-still, in Unix time. */
  atMs: number;
  lengthMs: number;
  cpuMs: number;
  waitMs: number;
}

const EVERY_MS = 5;
const RECORDED_FROM_MS = 25;

const { STANDSTILL_FILE: file = '' } = process.env;
const thread = isMainThread ? 'trading' : (process.argv[1]?.split('/').slice(-2).join('/') ?? '?');
let lastMs = performance.now();
let last = times();

setInterval(() => {
  const nowMs = performance.now();
  const now = times();
  const lengthMs = nowMs - lastMs - EVERY_MS;
  if (lengthMs >= RECORDED_FROM_MS) {
    const [cpuMs, waitMs] = [now.cpuMs - last.cpuMs, now.waitMs - last.waitMs];
    const record: StandStill = { thread, atMs: Date.now(), lengthMs, cpuMs, waitMs };
    appendFileSync(file, `${JSON.stringify(record)}\n`);
  }
  lastMs = performance.now();
  last = now;
}, EVERY_MS).unref();

/** The CPU and waiting times of this thread, from the kernel. */
function times(): { cpuMs: number; waitMs: number } {
  const [cpuNs, waitNs] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ');
  return { cpuMs: Number(cpuNs) / 1e6, waitMs: Number(waitNs) / 1e6 };
}
