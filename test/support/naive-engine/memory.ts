/**
 * The naive engine's remembered results: plain entries, oldest first, once per user and once for
 * all users. Expired entries are removed before anything else, so every entry counts.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Command, UserCommand } from '../../../engine/interface/commands.js';
import { IDEMPOTENCY_KEPT_MS } from '../../../engine/interface/limits.js';
import { IDEMPOTENCY_BOUNDS } from '../../../engine/state/idempotency.js';

/** The longest result: a batch of 100 orders with 5,000 fills, all of its integers large. */
const MOST_BYTES = 36 + 8 * (4 + 1 + 100 * (1 + 4 + 15) + 5_000 * 3);

interface Remembered {
  command: Command;
  result: number[];
  atMs: number;
}

export type KeyedCommand = Extract<Command, UserCommand>;

/** The command's key; null when it has none. */
export function keyOf(command: Command): string | null {
  return 'idempotencyKey' in command ? command.idempotencyKey : null;
}

export function sameCommand(a: Command, b: Command): boolean {
  const withoutKey = (command: Command) => ({ ...command, idempotencyKey: null });
  return isDeepStrictEqual(withoutKey(a), withoutKey(b));
}

function bytesOf(result: number[]): number {
  return result.reduce((sum, value) => sum + (value < 2 ** 31 ? 4 : 8), 36);
}

interface Entry extends Remembered {
  userId: number;
  key: string;
  bytes: number;
}

/** Entries in order, and what they take together. */
class Entries {
  readonly byKey = new Map<string, Entry>();
  bytes = 0;

  add(name: string, entry: Entry): void {
    this.byKey.set(name, entry);
    this.bytes += entry.bytes;
  }

  remove(name: string): void {
    this.bytes -= this.byKey.get(name)!.bytes;
    this.byKey.delete(name);
  }

  /** 0: there is room for another; otherwise for how long the oldest is still kept. */
  fullForMs(mostKeys: number, mostBytes: number, nowMs: number): number {
    if (this.byKey.size < mostKeys && this.bytes + MOST_BYTES <= mostBytes) return 0;
    const [oldest] = this.byKey.values();
    return oldest!.atMs + IDEMPOTENCY_KEPT_MS - nowMs;
  }
}

export class NaiveMemory {
  private readonly all = new Entries();
  private readonly perUser = new Map<number, Entries>();

  constructor(private readonly bounds = IDEMPOTENCY_BOUNDS) {}

  find(userId: number, key: string, nowMs: number): Remembered | undefined {
    this.forgetExpired(nowMs);
    return this.perUser.get(userId)?.byKey.get(key);
  }

  /** 0: another key of the user can be remembered; otherwise for how long it cannot. */
  fullForMs(userId: number, nowMs: number): number {
    const { keysPerUser, keysInAll, bytesPerUser, bytesInAll } = this.bounds;
    this.forgetExpired(nowMs);
    const ofUser = this.perUser.get(userId)?.fullForMs(keysPerUser, bytesPerUser, nowMs) ?? 0;
    return ofUser === 0 ? this.all.fullForMs(keysInAll, bytesInAll, nowMs) : ofUser;
  }

  remember(userId: number, key: string, remembered: Remembered): void {
    const entry = { ...remembered, userId, key, bytes: bytesOf(remembered.result) };
    const own = this.perUser.get(userId) ?? new Entries();
    this.perUser.set(userId, own);
    own.add(key, entry);
    this.all.add(`${userId} ${key}`, entry);
  }

  private forgetExpired(nowMs: number): void {
    for (const [name, { userId, key, atMs }] of this.all.byKey) {
      if (nowMs - atMs < IDEMPOTENCY_KEPT_MS) return;
      this.all.remove(name);
      this.perUser.get(userId)!.remove(key);
    }
  }
}
