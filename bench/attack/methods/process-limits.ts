/**
 * Lowers what the operating system lets a running process have, as if others had used it up:
 * descriptors, so that it can open neither a file nor a connection, or the size of files. What is
 * open stays open. Linux only: needs prlimit (util-linux), and the right to limit the process.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Starvation {
  /** Gives back what was taken. */
  relieve(): void;
}

/** @param left the number of the first descriptor that it may not open any more; 0: none at all. */
export function starveOfDescriptors(pid: number, left = 0): Starvation {
  return lower(pid, { option: 'nofile', name: 'Max open files', to: left });
}

/** No file may grow beyond so many bytes. */
export function limitFileSize(pid: number, bytes: number): Starvation {
  return lower(pid, { option: 'fsize', name: 'Max file size', to: bytes });
}

interface Limit {
  /** Of prlimit. */
  option: string;
  /** In /proc/<pid>/limits. */
  name: string;
  to: number;
}

function lower(pid: number, { option, name, to }: Limit): Starvation {
  const found = new RegExp(`^${name} +(\\w+) +(\\w+)`, 'm').exec(
    readFileSync(`/proc/${pid}/limits`, 'utf8'),
  );
  if (found === null) throw new Error(`process ${pid} does not tell its limits`);
  const [, soft, hard] = found;
  const set = (value: string) =>
    execFileSync('prlimit', [`--pid=${pid}`, `--${option}=${value}:${hard}`]);
  set(`${to}`);
  return { relieve: () => set(soft!) };
}
