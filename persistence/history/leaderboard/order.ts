/**
 * Users in order of a value, highest first, equal values by user id: a sorted list in blocks. A
 * lookup is a binary search, and a move also copies within a block, so both hardly depend on the
 * number of users.
 *
 * Always holds: a user is listed at most once, with the value that `valueOf` returns; blocks are in
 * order, not empty, and at most {@link BLOCK} long. Values are safe integers.
 */
import { MAX_USERS } from '../../../engine/interface/limits.js';
import type { Work } from '../../../engine/storage/pieces.js';

/** The most users in a block, and in a rebuilt block, which leaves room for insertions. */
const BLOCK = 1_024;
const REBUILT = 768;
/** What is done without a pause. */
const BLOCKS_IN_PIECE = 32;
const SORTED_IN_PIECE = 1 << 16;

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
 * From this user on there is room for all users. New memory is 0 and taken only where it is written
 * to: to fill or to copy what millions of users have takes hundreds of milliseconds.
 */
const MANY_USERS = 65_536;

export class RankedUsers {
  private blocks: Block[] = [];
  /** By user: 1 more than the value, or a negative value as it is; 0: the user is not listed. */
  private shown = new Float64Array(0);
  size = 0;

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
    if (value === null) this.shown[userId] = 0;
    else this.show(userId, value);
  }

  /** 1 plus the number of users with a higher value. */
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

  /**
   * Replaces all users, in pieces. `values[i]` is the value of `userIds[i]`; the user ids ascend.
   * Nobody may ask or set anything in between.
   */
  *rebuild(userIds: Int32Array, values: Float64Array): Work<void> {
    const order = yield* orderDescending(values);
    this.blocks = [];
    this.size = userIds.length;
    this.shown = new Float64Array(this.shown.length);
    for (let from = 0; from < order.length; from += REBUILT) {
      const block = newBlock();
      block.count = Math.min(REBUILT, order.length - from);
      for (let i = 0; i < block.count; i++) {
        const at = order[from + i]!;
        const userId = userIds[at]!;
        block.userIds[i] = userId;
        block.values[i] = values[at]!;
        this.ensure(userId);
        this.show(userId, values[at]!);
      }
      this.blocks.push(block);
      if (this.blocks.length % BLOCKS_IN_PIECE === 0) yield;
    }
  }

  private ensure(userId: number): void {
    if (userId < this.shown.length) return;
    const few = Math.max(userId + 1, this.shown.length * 2);
    const shown = new Float64Array(userId < MANY_USERS ? few : MAX_USERS + 1);
    shown.set(this.shown);
    this.shown = shown;
  }

  private show(userId: number, value: number): void {
    this.shown[userId] = value < 0 ? value : value + 1;
  }

  private insert(userId: number, value: number): void {
    this.size++;
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
    this.size--;
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

/** Leaves the first half in the block and returns the second. */
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

const DIGIT_BITS = 16;
const DIGITS = 1 << DIGIT_BITS;
const HIGH = 2 ** 32;
/** Makes the high half of any negated safe integer positive. */
const HIGH_BIAS = 2 ** 21;

/**
 * Indices by descending value, then ascending index: a radix sort, 16 bits at a time, which takes a
 * tenth of the time of a comparison sort on a million users.
 */
function* orderDescending(values: Float64Array): Work<Uint32Array> {
  const low = new Uint32Array(values.length);
  const high = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const negated = 0 - values[i]!;
    const upper = Math.floor(negated / HIGH);
    low[i] = negated - upper * HIGH;
    high[i] = upper + HIGH_BIAS;
    if (i % SORTED_IN_PIECE === 0) yield;
  }
  let order: Uint32Array = new Uint32Array(values.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
  let spare: Uint32Array = new Uint32Array(values.length);
  for (const half of [low, high]) {
    for (const shift of [0, DIGIT_BITS])
      if (yield* sortByDigit(half, shift, order, spare)) [order, spare] = [spare, order];
  }
  return order;
}

/** Sorts the order into `target` by one digit; false, with nothing moved, if all are equal. */
function* sortByDigit(
  keys: Uint32Array,
  shift: number,
  order: Uint32Array,
  target: Uint32Array,
): Work<boolean> {
  const starts = new Uint32Array(DIGITS);
  for (let i = 0; i < keys.length; i++) {
    starts[(keys[i]! >>> shift) & (DIGITS - 1)]!++;
    if (i % SORTED_IN_PIECE === 0) yield;
  }
  let start = 0;
  for (let digit = 0; digit < DIGITS; digit++) {
    const count = starts[digit]!;
    if (count === keys.length) return false;
    starts[digit] = start;
    start += count;
  }
  for (let i = 0; i < order.length; i++) {
    const index = order[i]!;
    const digit = (keys[index]! >>> shift) & (DIGITS - 1);
    target[starts[digit]!++] = index;
    if (i % SORTED_IN_PIECE === 0) yield;
  }
  return true;
}
