/**
 * An attack does something to an exchange that a client, a disk or an operator could do, and checks
 * its promises. It resolves to a figure for the report. It rejects (promises.ts) with BrokenPromise
 * when a promise did not hold, or with CannotRun when this machine lacks what the attack needs. Any
 * other error counts as a broken promise.
 */
import type { Stage } from './stage.js';

export interface Attack {
  name: string;
  done: string;
  run(stage: Stage): Promise<string>;
}

export interface AttackClass {
  name: string;
  /** Environment variables of the exchange, in addition to those of every attack. */
  variables?: Readonly<Record<string, string>>;
  /** Each attack gets a new exchange in a new folder, and may end it. Otherwise they share one. */
  isolated?: boolean;
  attacks: readonly Attack[];
}
