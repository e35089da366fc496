/**
 * Another process's CPU time by thread, on Linux: from /proc/<pid>/task/<thread>/stat. Node.js
 * names its file thread pool, where all SQLite statements run, but not its workers. V8's and the
 * inspector's threads start before a program's, so every later unnamed thread is a worker.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface CpuTime {
  userMs: number;
  systemMs: number;
}

/** `main` runs the program, `pool` SQLite, `workers` the follower, `others` V8. */
export const THREADS = ['main', 'pool', 'workers', 'others'] as const;
export type ThreadCpu = Record<(typeof THREADS)[number], CpuTime>;

const TICK_MS = 10;
/** Unnamed, at a process's start: four of V8, one of the inspector. */
const FIRST_THREADS = 5;
const POOL = 'libuv-worker';
/** Field indices of stat(5), counted from the state, which follows the name. */
const [USER_TICKS, SYSTEM_TICKS] = [11, 12];

interface Thread extends CpuTime {
  id: number;
  name: string;
}

/** null if the system does not report it. */
export function threadCpu(pid: number): ThreadCpu | null {
  const threads = threadsOf(pid);
  const main = threads.find(({ id }) => id === pid);
  if (main === undefined) return null;
  const unnamed = threads.filter(({ id, name }) => id !== pid && name === main.name);
  const workers = unnamed.slice(FIRST_THREADS);
  const pool = threads.filter(({ name }) => name === POOL);
  const known = new Set([main, ...workers, ...pool]);
  return {
    main: sumOf([main]),
    pool: sumOf(pool),
    workers: sumOf(workers),
    others: sumOf(threads.filter((thread) => !known.has(thread))),
  };
}

export function usedBetween(from: ThreadCpu | null, to: ThreadCpu | null): ThreadCpu | null {
  if (from === null || to === null) return null;
  const used = (thread: keyof ThreadCpu): CpuTime => ({
    userMs: to[thread].userMs - from[thread].userMs,
    systemMs: to[thread].systemMs - from[thread].systemMs,
  });
  return {
    main: used('main'),
    pool: used('pool'),
    workers: used('workers'),
    others: used('others'),
  };
}

export function totalMs({ userMs, systemMs }: CpuTime): number {
  return userMs + systemMs;
}

/** Oldest first. Omits threads that end during the call. */
function threadsOf(pid: number): Thread[] {
  const folder = `/proc/${pid}/task`;
  try {
    const ids = readdirSync(folder).map(Number);
    return ids.sort((a, b) => a - b).flatMap((id) => threadFrom(`${folder}/${id}/stat`, id));
  } catch {
    return [];
  }
}

function threadFrom(file: string, id: number): Thread[] {
  let text: string;
  try {
    text = readFileSync(file, 'latin1');
  } catch {
    return [];
  }
  const nameEnd = text.lastIndexOf(')');
  const fields = text.slice(nameEnd + 2).split(' ');
  const ticks = (place: number) => Number(fields[place]) * TICK_MS;
  const name = text.slice(text.indexOf('(') + 1, nameEnd);
  return [{ id, name, userMs: ticks(USER_TICKS), systemMs: ticks(SYSTEM_TICKS) }];
}

function sumOf(threads: readonly CpuTime[]): CpuTime {
  const sum = { userMs: 0, systemMs: 0 };
  for (const { userMs, systemMs } of threads) {
    sum.userMs += userMs;
    sum.systemMs += systemMs;
  }
  return sum;
}
