/**
 * What an attack is. It does something to an exchange that a client, a disk or an operator could
 * do, and holds the exchange to its promises. An attack resolves to a figure for the report, or
 * rejects (promises.ts): with BrokenPromise when a promise did not hold, with CannotRun when this
 * machine does not offer what the attack needs. Any other error counts as a broken promise.
 */
import type { Stage } from './stage.js';

export interface Attack {
  name: string;
  /** What is done, in words for the report. */
  done: string;
  run(stage: Stage): Promise<string>;
}

/** Attacks of one kind. */
export interface AttackClass {
  name: string;
  /** Environment variables of the exchange, besides those of every attack. */
  variables?: Readonly<Record<string, string>>;
  /**
   * Each attack gets an exchange in a folder of its own, and may end it. Otherwise all attacks of
   * the class share one.
   */
  isolated?: boolean;
  attacks: readonly Attack[];
}
