/**
 * Room: fair-share quotas for the pools that all users share. No user can starve the others, even
 * with many accounts.
 *
 * Each user is assured of a small part while the pool has any room. Beyond that part, a user may
 * take more only while the user has less than a third of what is still open to all, so shares
 * shrink as the pool fills (dynamic thresholds, as in switches with shared memory: Choudhury and
 * Hahne, IEEE/ACM Transactions on Networking 6(2)). Newcomers, whose accounts have cost nothing,
 * share half of the pool. The last sixteenth is reserved for the exchange's own accounts and for
 * cancels.
 *
 * A family, which is a user and its sub-accounts, may take as much of each pool as one user: their
 * sum counts.
 *
 * Invariant: `used`, `ofNewcomers` and `families` are the sums of what all users, the newcomers
 * and each family have taken.
 */
import {
  CLIENT_ORDER_IDS_IN_ALL,
  CLIENT_ORDER_IDS_PER_USER,
  IDEMPOTENCY_KEPT_IN_ALL,
  IDEMPOTENCY_KEPT_PER_USER,
  MAX_CHOSEN_REFERRAL_CODES,
  MAX_FILLS_PER_ORDER,
  MAX_OPEN_ORDERS,
  MAX_OPEN_ORDERS_PER_USER,
  MAX_ORDER_GROUPS,
  MAX_ORDER_GROUPS_PER_USER,
  MAX_POSITIONS,
  MAX_REFERRAL_CODES_PER_USER,
  MAX_SUB_ACCOUNTS,
  MAX_SUB_ACCOUNTS_PER_USER,
  MAX_TOKENS,
  MAX_TOKENS_PER_USER,
  MAX_VAULT_DEPOSITS,
  MAX_VAULT_DEPOSITS_PER_USER,
} from '../../interface/limits.js';
import type { Archive } from '../../storage/archive.js';
import { Table } from '../../storage/table.js';
import type { UndoLog } from '../../storage/undo.js';
import { type Accounts, ESTABLISHED, IN_FAMILY } from '../accounts.js';

export const Pool = {
  orders: 0,
  positions: 1,
  vaultDeposits: 2,
  tokens: 3,
  referralCodes: 4,
  clientOrderIds: 5,
  keys: 6,
  orderGroups: 7,
  subAccounts: 8,
} as const;
export type Pool = (typeof Pool)[keyof typeof Pool];
const POOL_COUNT = Object.keys(Pool).length;

export interface PoolSize {
  size: number;
  /** The most that one user may have, even in an empty pool. */
  most: number;
  /** The amount that every user may have while the pool has any room. */
  assured: number;
}
export type PoolSizes = Readonly<Record<keyof typeof Pool, PoolSize>>;

/**
 * The assured part is what a person needs. A quarter of each pool has the assured part of at least
 * 10,000 users.
 */
export const POOL_SIZES: PoolSizes = {
  orders: { size: MAX_OPEN_ORDERS, most: MAX_OPEN_ORDERS_PER_USER, assured: 100 },
  // The makers of an order may each need a position.
  positions: { size: MAX_POSITIONS - MAX_FILLS_PER_ORDER, most: MAX_POSITIONS, assured: 100 },
  vaultDeposits: { size: MAX_VAULT_DEPOSITS, most: MAX_VAULT_DEPOSITS_PER_USER, assured: 20 },
  tokens: { size: MAX_TOKENS, most: MAX_TOKENS_PER_USER, assured: 10 },
  referralCodes: {
    size: MAX_CHOSEN_REFERRAL_CODES,
    // The first code is generated, not chosen.
    most: MAX_REFERRAL_CODES_PER_USER - 1,
    assured: 3,
  },
  clientOrderIds: {
    size: CLIENT_ORDER_IDS_IN_ALL,
    most: CLIENT_ORDER_IDS_PER_USER,
    assured: 100,
  },
  keys: { size: IDEMPOTENCY_KEPT_IN_ALL, most: IDEMPOTENCY_KEPT_PER_USER, assured: 1_000 },
  orderGroups: { size: MAX_ORDER_GROUPS, most: MAX_ORDER_GROUPS_PER_USER, assured: 5 },
  subAccounts: { size: MAX_SUB_ACCOUNTS, most: MAX_SUB_ACCOUNTS_PER_USER, assured: 4 },
};

/** Beyond the assured part, a user may take more while SHARES × its use is below what is left. */
const SHARES = 3;

/** The size of a pool, divided into parts. */
interface Parts extends PoolSize {
  /** The size without the reserve for the exchange and for cancels. */
  open: number;
  /** The part of `open` that is kept for the users' assured parts. */
  assuredPart: number;
  /** What newcomers share, and the part of that which is kept for their assured parts. */
  newcomers: number;
  assuredOfNewcomers: number;
  /** Minus the current use: what both newcomers and established users may still share. */
  ample: number;
}

function partsOf(pool: PoolSize): Parts {
  const { size } = pool;
  const open = size - Math.floor(size / 16);
  const assuredPart = Math.floor(size / 4);
  const newcomers = Math.floor(size / 2);
  const assuredOfNewcomers = Math.floor(size / 8);
  const ample = Math.min(open - assuredPart, newcomers - assuredOfNewcomers);
  return { ...pool, open, assuredPart, newcomers, assuredOfNewcomers, ample };
}

/** What the accounts of each family have taken: one row of pools per family, from row 1. */
class FamilyUses extends Table {
  constructor(undo: UndoLog) {
    super(undo, POOL_COUNT * Float64Array.BYTES_PER_ELEMENT);
  }

  of(family: number, pool: Pool): number {
    return this.f64[family * POOL_COUNT + pool]!;
  }

  add(family: number, pool: Pool, change: number): void {
    this.touch(family);
    this.f64[family * POOL_COUNT + pool]! += change;
  }
}

export class Room {
  private readonly used: Float64Array;
  private readonly ofNewcomers: Float64Array;
  private readonly families: FamilyUses;
  private familyCount = 0;
  private parts: Parts[] = [];

  constructor(
    undo: UndoLog,
    private readonly accounts: Pick<
      Accounts,
      'isEstablished' | 'isInFamily' | 'standing' | 'family'
    >,
    private readonly isOfExchange: (userId: number) => boolean,
  ) {
    this.used = undo.block(POOL_COUNT);
    this.ofNewcomers = undo.block(POOL_COUNT);
    this.families = new FamilyUses(undo);
    this.setSizes(POOL_SIZES);
  }

  /** Only tests change the sizes. */
  setSizes(sizes: PoolSizes): void {
    const names = Object.keys(Pool) as (keyof typeof Pool)[];
    this.parts = names.map((name) => partsOf(sizes[name]));
  }

  /** The number of places taken in the pool. */
  usedOf(pool: Pool): number {
    return this.used[pool]!;
  }

  usedByNewcomers(pool: Pool): number {
    return this.ofNewcomers[pool]!;
  }

  sizeOf(pool: Pool): number {
    return this.parts[pool]!.size;
  }

  isFull(pool: Pool): boolean {
    return this.used[pool]! >= this.parts[pool]!.size;
  }

  /** How much of the pool the family uses. */
  usedByFamily(family: number, pool: Pool): number {
    return this.families.of(family, pool);
  }

  /** Whether a user that has `own` may take another place. */
  mayTake(pool: Pool, userId: number, own: number, isCancel = false): boolean {
    // Sufficient for newcomers and others alike, because newcomers have at most `used`.
    const { most, ample } = this.parts[pool]!;
    const isAmple = own < most && own * SHARES < ample - this.used[pool]!;
    if (isAmple && !this.accounts.isInFamily(userId)) return true;
    return this.mayTakeOfFew(pool, userId, own, isCancel);
  }

  private mayTakeOfFew(pool: Pool, userId: number, own: number, isCancel: boolean): boolean {
    // Client order ids count per user, because no id is refused: an older id is forgotten instead.
    const family = pool === Pool.clientOrderIds ? 0 : this.accounts.family(userId);
    const mine = family === 0 ? own : this.families.of(family, pool);
    const { size, most, assured, open, assuredPart, newcomers, assuredOfNewcomers } =
      this.parts[pool]!;
    if (mine >= most) return false;
    const used = this.used[pool]!;
    let left = open - used;
    let shared = left - assuredPart;
    if (!this.accounts.isEstablished(userId)) {
      const leftOfNewcomers = newcomers - this.ofNewcomers[pool]!;
      left = Math.min(left, leftOfNewcomers);
      shared = Math.min(shared, leftOfNewcomers - assuredOfNewcomers);
    }
    if (mine < assured ? left > 0 : mine * SHARES < shared) return true;
    // The reserve for the exchange's own accounts and for cancels.
    return used < size && ((isCancel && mine < 2 * assured) || this.isOfExchange(userId));
  }

  /** Call for every place that a user takes, or gives back (negative `change`). */
  count(pool: Pool, userId: number, change: number): void {
    this.used[pool]! += change;
    const standing = this.accounts.standing(userId);
    if (standing === ESTABLISHED) return;
    if ((standing & ESTABLISHED) === 0) this.ofNewcomers[pool]! += change;
    if ((standing & IN_FAMILY) !== 0) this.families.add(this.accounts.family(userId), pool, change);
  }

  /** Adds a family, of a user that has taken this of each pool; returns the family's number. */
  addFamily(taken: (pool: Pool) => number): number {
    this.familyCount++;
    this.families.ensure(this.familyCount + 1);
    for (const pool of Object.values(Pool)) this.families.add(this.familyCount, pool, taken(pool));
    return this.familyCount;
  }

  /** A user that has taken `mine` stops being a newcomer. */
  leaveNewcomers(pool: Pool, mine: number): void {
    this.ofNewcomers[pool]! -= mine;
  }

  archive(archive: Archive): void {
    for (let pool = 0; pool < POOL_COUNT; pool++) {
      this.used[pool] = archive.number(this.used[pool]!);
      this.ofNewcomers[pool] = archive.number(this.ofNewcomers[pool]!);
    }
    this.familyCount = archive.number(this.familyCount);
    this.families.archiveRows(archive, 1, this.familyCount + 1);
  }
}
