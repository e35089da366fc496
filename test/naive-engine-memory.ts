/**
 * What the naive engine remembers of commands with an idempotency key: per user, the oldest first, as plain entries
 * in the order of a Map's keys.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Command, UserCommand } from '../engine/commands.js';
import { IDEMPOTENCY_KEPT_MS, IDEMPOTENCY_KEPT_PER_USER } from '../engine/limits.js';

interface Remembered {
  command: Command;
  result: number[];
  atMs: number;
}

export type KeyedCommand = Extract<Command, UserCommand>;

/** The key of a command that has one; null when it has none. */
export function keyOf(command: Command): string | null {
  return 'idempotencyKey' in command ? command.idempotencyKey : null;
}

export function sameCommand(a: Command, b: Command): boolean {
  const withoutKey = (command: Command) => ({ ...command, idempotencyKey: null });
  return isDeepStrictEqual(withoutKey(a), withoutKey(b));
}

export class NaiveMemory {
  private readonly perUser = new Map<number, Map<string, Remembered>>();

  find(userId: number, key: string, nowMs: number): Remembered | undefined {
    const found = this.perUser.get(userId)?.get(key);
    return found !== undefined && nowMs - found.atMs < IDEMPOTENCY_KEPT_MS ? found : undefined;
  }

  remember(userId: number, key: string, entry: Remembered): void {
    const entries = this.perUser.get(userId) ?? new Map<string, Remembered>();
    this.perUser.set(userId, entries);
    entries.delete(key);
    entries.set(key, entry);
    const oldest = entries.keys().next();
    if (entries.size > IDEMPOTENCY_KEPT_PER_USER && !oldest.done) entries.delete(oldest.value);
  }
}
