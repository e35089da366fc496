/**
 * Lower priorities for background threads, to leave the cores to the trading thread. On Linux each
 * thread has its own priority, inherited from the thread that started it.
 */
import { getPriority, setPriority } from 'node:os';

const LOWEST = 19;

/** Lowers the calling thread's priority by `steps`, which needs no permission. */
export function lowerPriority(steps: number): void {
  if (process.platform === 'linux') setPriority(0, Math.min(LOWEST, getPriority(0) + steps));
}
