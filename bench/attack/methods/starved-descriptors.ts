/**
 * Takes descriptors away from a running process: from then on it can open nothing, neither a file nor a connection, as if others
 * had used them all up. What it has open stays open. Needs prlimit (util-linux), and the right to limit the process.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Starvation {
  /** Gives back what was taken. */
  relieve(): void;
}

/** @param left the number of the first descriptor that it may not open any more; 0: none at all. */
export function starveOfDescriptors(pid: number, left = 0): Starvation {
  const { soft, hard } = openFilesOf(pid);
  limit(pid, `${left}:${hard}`);
  return { relieve: () => limit(pid, `${soft}:${hard}`) };
}

function limit(pid: number, openFiles: string): void {
  execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${openFiles}`]);
}

function openFilesOf(pid: number): { soft: string; hard: string } {
  const found = /^Max open files +(\w+) +(\w+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'));
  if (found === null) throw new Error(`process ${pid} does not tell its limits`);
  return { soft: found[1]!, hard: found[2]! };
}
