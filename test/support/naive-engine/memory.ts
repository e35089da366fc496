/**
 * The naive engine's remembered results: plain entries, oldest first, in the order of a Map's keys,
 * once per user and once for all users.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Command, UserCommand } from '../../../engine/interface/commands.js';
import { IDEMPOTENCY_KEPT_MS } from '../../../engine/interface/limits.js';
import { IDEMPOTENCY_BOUNDS } from '../../../engine/state/idempotency.js';

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

/**
 * The number of 64-byte blocks that a result takes: the key and one byte, then each integer and
 * their number in groups of 7 bits.
 */
function blocksOf(key: string, result: number[]): number {
  const groups = (value: number): number => (value < 128 ? 1 : 1 + groups(Math.floor(value / 128)));
  const bytes = [result.length, ...result].reduce(
    (sum, value) => sum + groups(value),
    1 + key.length,
  );
  return Math.ceil(bytes / 64);
}

interface Entry extends Remembered {
  userId: number;
  key: string;
  blocks: number;
}

export class NaiveMemory {
  private readonly perUser = new Map<number, Map<string, Entry>>();
  private readonly all = new Set<Entry>();
  private blocks = 0;

  constructor(private readonly bounds = IDEMPOTENCY_BOUNDS) {}

  find(userId: number, key: string, nowMs: number): Remembered | undefined {
    const found = this.perUser.get(userId)?.get(key);
    return found !== undefined && nowMs - found.atMs < IDEMPOTENCY_KEPT_MS ? found : undefined;
  }

  remember(userId: number, key: string, remembered: Remembered): void {
    const entry = { ...remembered, userId, key, blocks: blocksOf(key, remembered.result) };
    const own = this.perUser.get(userId) ?? new Map<string, Entry>();
    this.perUser.set(userId, own);
    const expired = own.get(key);
    if (expired !== undefined) this.forget(expired);
    const blocksOfOwn = () =>
      [...own.values()].reduce((sum, { blocks }) => sum + blocks, entry.blocks);
    // Adding up ten thousand entries is only needed when they may be too large.
    const mayBeTooLarge = this.blocks + entry.blocks > this.bounds.blocksPerUser;
    while (
      own.size >= this.bounds.entriesPerUser ||
      (mayBeTooLarge && blocksOfOwn() > this.bounds.blocksPerUser)
    ) {
      this.forget(firstOf(own.values()));
    }
    const { entriesInAll, blocksInAll } = this.bounds;
    while (this.all.size >= entriesInAll || this.blocks + entry.blocks > blocksInAll) {
      this.forget(firstOf(this.all.values()));
    }
    own.set(key, entry);
    this.all.add(entry);
    this.blocks += entry.blocks;
  }

  private forget(entry: Entry): void {
    this.perUser.get(entry.userId)!.delete(entry.key);
    this.all.delete(entry);
    this.blocks -= entry.blocks;
  }
}

function firstOf(entries: Iterator<Entry>): Entry {
  const first = entries.next();
  if (first.done === true) throw new Error('there is no entry to evict');
  return first.value;
}
