/**
 * The naive engine's room: each user's limit on shared resources, counted from scratch each time.
 */
import type { PoolSizes } from '../../../../engine/state/access/room.js';
import { areFamily, type NaiveState, type NaiveUser, userOf } from '../state.js';

type PoolName = keyof PoolSizes;
/** Pools whose use is counted from the state; keys are counted by the memory. */
type SharedPool = Exclude<PoolName, 'keys'>;

/** The points earned by a dollar of fees. */
const ESTABLISHED_MICRO_POINTS = 100_000_000;

/** An account without a credential is the exchange's own, unless it is a sub-account. */
export function isOfExchange(user: NaiveUser): boolean {
  return user.credential === '' && user.parentId === 0;
}

function isNewcomer(user: NaiveUser): boolean {
  return user.microPoints < ESTABLISHED_MICRO_POINTS;
}

/** The owner of each used place of a pool. */
export function ownersOf(state: NaiveState, pool: SharedPool): number[] {
  const ids = (all: { userId: number }[]) => all.map(({ userId }) => userId);
  switch (pool) {
    case 'orders':
      return ids(state.markets.flatMap((market) => market.orders));
    case 'positions':
      return ids(state.markets.flatMap((market) => market.positions));
    case 'vaultDeposits':
      return ids(state.vault.deposits.filter((deposit) => !deposit.closed));
    case 'tokens':
      return ids(state.tokens);
    case 'referralCodes':
      return state.users.flatMap(({ userId, referralCodes }) =>
        referralCodes.slice(1).map(() => userId),
      );
    case 'clientOrderIds':
      return ids(state.clientOrders);
    case 'orderGroups':
      return ids(state.groups);
    case 'subAccounts':
      return state.users.flatMap(({ parentId }) => (parentId === 0 ? [] : [parentId]));
  }
}

export function isFull(state: NaiveState, pool: SharedPool): boolean {
  return ownersOf(state, pool).length >= state.poolSizes[pool].size;
}

export function mayTakeOne(state: NaiveState, pool: SharedPool, userId: number): boolean {
  const counts = new Map<number, number>();
  for (const owner of ownersOf(state, pool)) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  const tally = new Tally(state, userId, pool);
  for (const [owner, count] of counts) tally.add(owner, count);
  return tally.mayTake(false);
}

/** Counts the used places of a pool, by owner. */
export class Tally {
  private mine = 0;
  private used = 0;
  private usedByNewcomers = 0;

  /** Decides whether this user may take one more place. */
  constructor(
    private readonly state: NaiveState,
    private readonly userId: number,
    private readonly pool: PoolName,
  ) {}

  add(owner: number, count: number): void {
    const isMine =
      this.pool === 'clientOrderIds'
        ? owner === this.userId
        : areFamily(this.state, owner, this.userId);
    if (isMine) this.mine += count;
    this.used += count;
    if (isNewcomer(userOf(this.state, owner)!)) this.usedByNewcomers += count;
  }

  mayTake(isCancel: boolean): boolean {
    const { mine, used, pool } = this;
    const { size, most, assured } = this.state.poolSizes[pool];
    const user = userOf(this.state, this.userId)!;
    if (mine >= most) return false;
    const part = (divisor: number) => Math.floor(size / divisor);
    const lefts = [{ left: size - part(16) - used, assuredPart: part(4) }];
    if (isNewcomer(user))
      lefts.push({ left: part(2) - this.usedByNewcomers, assuredPart: part(8) });
    const isOpen = lefts.every(({ left, assuredPart }) =>
      mine < assured ? left > 0 : 3 * mine < left - assuredPart,
    );
    const mayUseReserve = isOfExchange(user) || (isCancel && mine < 2 * assured);
    return isOpen || (mayUseReserve && used < size);
  }
}
