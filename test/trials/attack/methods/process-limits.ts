/** Lowers the limits of a running process, for what is opened later. Linux only: needs prlimit. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Starvation {
  /** Restores the limit. */
  relieve(): void;
}

/** @param left the number of the first descriptor that it can no longer open; 0: none at all. */
export function starveOfDescriptors(pid: number, left = 0): Starvation {
  return lower(pid, { option: 'nofile', name: 'Max open files', to: left });
}

/** No file may grow beyond so many bytes. */
export function limitFileSize(pid: number, bytes: number): Starvation {
  return lower(pid, { option: 'fsize', name: 'Max file size', to: bytes });
}

/** `option` of prlimit; `name` in /proc/<pid>/limits. */
function lower(
  pid: number,
  { option, name, to }: { option: string; name: string; to: number },
): Starvation {
  const found = new RegExp(`^${name} +(\\w+) +(\\w+)`, 'm').exec(
    readFileSync(`/proc/${pid}/limits`, 'utf8'),
  );
  if (found === null) throw new Error(`process ${pid} does not show its limits`);
  const [, soft, hard] = found;
  const set = (value: string) =>
    execFileSync('prlimit', [`--pid=${pid}`, `--${option}=${value}:${hard}`]);
  set(`${to}`);
  return { relieve: () => set(soft!) };
}
