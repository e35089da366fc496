/** CPU time, from /proc. Linux only. */
import { readFileSync } from 'node:fs';

/** The unit of times in /proc; 100 on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const UTIME = 11;
const STIME = 12;

/** The CPU time of a process's main thread, which trades or serves. */
export function mainThreadCpuMsOf(pid: number): number {
  return ticksOf(`/proc/${pid}/task/${pid}/stat`) * (1_000 / TICKS_PER_SECOND);
}

/** The CPU time of the calling thread. */
export function ownThreadCpuMs(): number {
  return nsIn('/proc/thread-self/schedstat', 0) / 1e6;
}

/** How long a process's main thread has waited for a processor. */
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

/** The fields after the name, which may contain spaces; empty if there is no such process. */
function fieldsOf(path: string): string[] {
  try {
    const text = readFileSync(path, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
