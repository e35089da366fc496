/** CPU time, from /proc: on other systems than Linux it is not known. */
import { readFileSync } from 'node:fs';

/** Of the clock in which /proc counts; 100 on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const UTIME = 11;
const STIME = 12;

/** The time of all threads of these processes so far; those that have ended count nothing. */
export function cpuMsOf(pids: readonly number[]): number {
  return (
    pids.reduce((sum, pid) => sum + ticksOf(`/proc/${pid}/stat`), 0) * (1_000 / TICKS_PER_SECOND)
  );
}

/** The time of a process's main thread, on which it trades or serves. */
export function mainThreadCpuMsOf(pid: number): number {
  return ticksOf(`/proc/${pid}/task/${pid}/stat`) * (1_000 / TICKS_PER_SECOND);
}

/** The time of the thread that asks. */
export function ownThreadCpuMs(): number {
  return nsIn('/proc/thread-self/schedstat', 0) / 1e6;
}

/** For how long a process's main thread has waited for a processor: the machine had other work. */
export function mainThreadWaitMsOf(pid: number): number {
  return nsIn(`/proc/${pid}/task/${pid}/schedstat`, 1) / 1e6;
}

function nsIn(path: string, field: number): number {
  return Number(readFileSync(path, 'utf8').split(' ')[field]);
}

function ticksOf(path: string): number {
  const fields = fieldsOf(path);
  return Number(fields[UTIME] ?? 0) + Number(fields[STIME] ?? 0);
}

/** The fields behind the name, which may have spaces. Empty: there is no such process. */
function fieldsOf(path: string): string[] {
  try {
    const text = readFileSync(path, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
