/**
 * How the threads beside the one that trades give way to it where cores are scarce. On Linux a thread has a priority of its
 * own, and begins with that of the thread that started it.
 */
import { getPriority, setPriority } from 'node:os';

/** The lowest priority that there is; higher numbers are lower priorities. */
const LOWEST = 19;

/** Lowers the calling thread's priority by so many steps. Counted from where it stands, which everybody may do to themselves. */
export function lowerPriority(steps: number): void {
  if (process.platform === 'linux') setPriority(0, Math.min(LOWEST, getPriority(0) + steps));
}
