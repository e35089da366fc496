/**
 * Room: how much each user may take of what all users share. Whoever comes first cannot take it
 * from the others, however many accounts take part.
 *
 * Each user is assured of a small part as long as the pool has any room. More than that a user may
 * take only while it has less than a third of what is still open to all (dynamic thresholds, as in
 * switches with shared memory: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2)), so
 * shares shrink as the pool fills. Newcomers, whose accounts have cost nothing, share a half of the
 * pool. The last sixteenth is for the exchange's own accounts, and for cancels.
 *
 * A user and its sub-accounts, a family, have what one user may have: of each pool, the sum of what
 * they have counts.
 *
 * Always holds: `used` and `ofNewcomers` are the sums of what the users and the newcomers have, and
 * `families` those of families.
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
  /** The most that one user may have, even if nobody else has any. */
  most: number;
  /** What one user may have as long as there is any room. */
  assured: number;
}
export type PoolSizes = Readonly<Record<keyof typeof Pool, PoolSize>>;

/**
 * What is assured is what a person needs, and so little that a quarter of the pool has it for
 * 10,000 users or more.
 */
export const POOL_SIZES: PoolSizes = {
  orders: { size: MAX_OPEN_ORDERS, most: MAX_OPEN_ORDERS_PER_USER, assured: 100 },
  // The makers of an order may each need a position.
  positions: { size: MAX_POSITIONS - MAX_FILLS_PER_ORDER, most: MAX_POSITIONS, assured: 100 },
  vaultDeposits: { size: MAX_VAULT_DEPOSITS, most: MAX_VAULT_DEPOSITS_PER_USER, assured: 20 },
  tokens: { size: MAX_TOKENS, most: MAX_TOKENS_PER_USER, assured: 10 },
  referralCodes: {
    size: MAX_CHOSEN_REFERRAL_CODES,
    // The first one is not chosen.
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

/** Beyond what is assured, a user may take more while this times its use is below what is left. */
const SHARES = 3;

/** A size, with its parts. */
interface Parts extends PoolSize {
  /** All but the reserve of the exchange and of cancels. */
  open: number;
  /** The part of what is open in which each user has only what is assured. */
  assuredPart: number;
  /** What newcomers share, and of it the part in which each has only what is assured. */
  newcomers: number;
  assuredOfNewcomers: number;
  /** Minus the current use, this is what newcomers and established users may both still share. */
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

/** What the accounts of each family have together: a row of pools for each family, from 1 on. */
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

  /** Only tests set others than the stated ones. */
  setSizes(sizes: PoolSizes): void {
    const names = Object.keys(Pool) as (keyof typeof Pool)[];
    this.parts = names.map((name) => partsOf(sizes[name]));
  }

  /** How many places of the pool are taken. */
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

  /** What the family has of the pool. */
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
    // For a client order id, an older one is forgotten: the user's own, or else anybody's.
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
    // The reserve.
    return used < size && ((isCancel && mine < 2 * assured) || this.isOfExchange(userId));
  }

  /** To be called for all that a user takes, and, with a negative change, gives back. */
  count(pool: Pool, userId: number, change: number): void {
    this.used[pool]! += change;
    const standing = this.accounts.standing(userId);
    if (standing === ESTABLISHED) return;
    if ((standing & ESTABLISHED) === 0) this.ofNewcomers[pool]! += change;
    if ((standing & IN_FAMILY) !== 0) this.families.add(this.accounts.family(userId), pool, change);
  }

  /** A new family, of a user who has these of each pool; returns its number. */
  addFamily(taken: (pool: Pool) => number): number {
    this.familyCount++;
    this.families.ensure(this.familyCount + 1);
    for (const pool of Object.values(Pool)) this.families.add(this.familyCount, pool, taken(pool));
    return this.familyCount;
  }

  /** A user that has `mine` ceases to be a newcomer. */
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
