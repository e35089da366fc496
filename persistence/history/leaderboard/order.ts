/**
 * Users in order of a value, highest first, equal values by user id: a sorted list in blocks. A
 * lookup is a binary search, and a move also copies within a block, so both hardly depend on the
 * number of users.
 *
 * Invariant: a user is listed at most once, with the value that `valueOf` returns; blocks are in
 * order, not empty, and at most {@link BLOCK} long. Values are safe integers.
 */
import { MAX_USERS } from '../../../engine/interface/limits.js';

/** The most users in a block. */
const BLOCK = 1_024;

interface Block {
  userIds: Int32Array;
  values: Float64Array;
  count: number;
}

export interface Ranked {
  userId: number;
  value: number;
}

/**
 * From this user on there is room for all users. New memory is zero and only taken where it is
 * written to, whereas filling or copying the memory of millions of users takes hundreds of
 * milliseconds.
 */
const MANY_USERS = 65_536;

export class RankedUsers {
  private blocks: Block[] = [];
  /**
   * For each user, 1 more than the value, or a negative value unchanged; 0 if the user is not
   * listed.
   */
  private shown = new Float64Array(0);

  valueOf(userId: number): number | null {
    const shown = this.shown[userId] ?? 0;
    if (shown === 0) return null;
    return shown > 0 ? shown - 1 : shown;
  }

  /** Sets a user's value; null removes the user. */
  set(userId: number, value: number | null): void {
    this.ensure(userId);
    const old = this.valueOf(userId);
    if (old === value) return;
    if (old !== null) this.remove(userId, old);
    if (value !== null) this.insert(userId, value);
    this.shown[userId] = value === null ? 0 : value < 0 ? value : value + 1;
  }

  /** The user's rank: 1 plus the number of users with a higher value. */
  rankOf(userId: number): number | null {
    const value = this.valueOf(userId);
    return value === null ? null : this.rankOfValue(value);
  }

  rankOfValue(value: number): number {
    return this.countBefore(0, value) + 1;
  }

  countBefore(userId: number, value: number): number {
    const at = this.blockFor(userId, value);
    let count = 0;
    for (let i = 0; i < at; i++) count += this.blocks[i]!.count;
    const block = this.blocks[at];
    return block === undefined ? count : count + placeIn(block, userId, value);
  }

  /** Up to `limit` users after the first `skipped`. */
  slice(skipped: number, limit: number): Ranked[] {
    const page: Ranked[] = [];
    let left = skipped;
    for (const block of this.blocks) {
      for (let i = Math.min(left, block.count); i < block.count; i++) {
        if (page.length === limit) return page;
        page.push({ userId: block.userIds[i]!, value: block.values[i]! });
      }
      left -= Math.min(left, block.count);
    }
    return page;
  }

  private ensure(userId: number): void {
    if (userId < this.shown.length) return;
    const few = Math.max(userId + 1, this.shown.length * 2);
    const shown = new Float64Array(userId < MANY_USERS ? few : MAX_USERS + 1);
    shown.set(this.shown);
    this.shown = shown;
  }

  private insert(userId: number, value: number): void {
    const at = Math.min(this.blockFor(userId, value), Math.max(0, this.blocks.length - 1));
    let block = this.blocks[at];
    if (block === undefined) {
      block = newBlock();
      this.blocks.push(block);
    } else if (block.count === BLOCK) {
      const rest = split(block);
      this.blocks.splice(at + 1, 0, rest);
      if (isBefore(rest.values[0]!, rest.userIds[0]!, value, userId)) block = rest;
    }
    const place = placeIn(block, userId, value);
    block.userIds.copyWithin(place + 1, place, block.count);
    block.values.copyWithin(place + 1, place, block.count);
    block.userIds[place] = userId;
    block.values[place] = value;
    block.count++;
  }

  private remove(userId: number, value: number): void {
    const at = this.blockFor(userId, value);
    const block = this.blocks[at]!;
    const place = placeIn(block, userId, value);
    if (block.userIds[place] !== userId)
      throw new Error(`user ${userId} is not at the place of their value`);
    block.userIds.copyWithin(place, place + 1, block.count);
    block.values.copyWithin(place, place + 1, block.count);
    block.count--;
    if (block.count === 0) this.blocks.splice(at, 1);
  }

  /** The first block that ends at or after this place; the number of blocks if none does. */
  private blockFor(userId: number, value: number): number {
    let low = 0;
    let high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { values, userIds, count } = this.blocks[middle]!;
      if (isBefore(values[count - 1]!, userIds[count - 1]!, value, userId)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function newBlock(): Block {
  return { userIds: new Int32Array(BLOCK), values: new Float64Array(BLOCK), count: 0 };
}

/** Splits a block: leaves the first half in it and returns the second. */
function split(block: Block): Block {
  const rest = newBlock();
  const kept = BLOCK / 2;
  rest.userIds.set(block.userIds.subarray(kept));
  rest.values.set(block.values.subarray(kept));
  rest.count = BLOCK - kept;
  block.count = kept;
  return rest;
}

function isBefore(value: number, userId: number, otherValue: number, otherUserId: number): boolean {
  return value > otherValue || (value === otherValue && userId < otherUserId);
}

/** The number of users in the block before a user with this value. */
function placeIn({ values, userIds, count }: Block, userId: number, value: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(values[middle]!, userIds[middle]!, value, userId)) low = middle + 1;
    else high = middle;
  }
  return low;
}
