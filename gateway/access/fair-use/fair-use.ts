/**
 * Rate limits that keep one client from slowing down others. Orders, cancels, reads and sign-ins
 * have separate quotas, so a client that has used up its orders can still cancel them. Each quota
 * has two token buckets, the user's and the address's. Cancels also have reserves in the disk queue
 * (overload.ts), among idempotency keys (the engine's state/access/room.ts) and in the core's queue
 * (edge/forwarder.ts).
 *
 * Invariant: a request pays its full price to both buckets, or nothing. A lone client that waits as
 * long as a refusal states is then served. Costs that are known only later (charges.ts) put the
 * buckets into debt.
 *
 * A user's tier, set by an operator, multiplies the user's rates and bursts of orders, cancels and
 * reads. For the user's requests, it also multiplies the address's rates and bursts: both buckets
 * charge the tier's fraction of a unit. Tiers apply on the trading thread and on replicas once they
 * are durable. Edges charge only addresses, so they need no tiers.
 *
 * Reading a socket's address takes up to a tenth of an order's time. A signed-in user's session
 * therefore takes tokens from the address's bucket in advance, and the address is read again only
 * when they are used up.
 */
import type { AddressKey } from './addresses.js';
import { type ElapsedMs, type Rate, TokenBuckets } from './token-buckets.js';

export const QUOTAS = ['orders', 'cancels', 'reads', 'signIns'] as const;
export type Quota = (typeof QUOTAS)[number];
export const PARTIES = ['user', 'address'] as const;
type Party = (typeof PARTIES)[number];

export type FairUseRates = Record<Quota, Record<Party, Rate | null>>;

type PartyKey = AddressKey;

/** Limit longer than any username, so that cutting never yields an existing one. */
const NAME_LENGTH_MAX = 21;

/**
 * Counts sign-in attempts. Contains the name as sent, so that the remaining count does not reveal
 * whether the name exists, and the address, so that others cannot lock the owner out.
 */
export function signInKey(address: AddressKey, username: string): PartyKey {
  return `${address} ${username.toLowerCase().slice(0, NAME_LENGTH_MAX)}`;
}

export interface RateLimitState {
  limit: number;
  remaining: number;
  resetSeconds: number;
}

export interface RateLimitResult extends RateLimitState {
  granted: boolean;
  waitMs: number;
}

/** A signed-in user's session, with tokens taken from its address in advance. */
export interface Payer {
  /** The user, or a sub-account's parent, whose limits its sub-accounts share. */
  readonly payerId: number;
  ahead: Record<Quota, number> | null;
}

export class Bill {
  /** The charged quota; meaningless before the first charge. */
  quota: Quota = 'reads';
  byAddress = 0;
  /** The part paid with tokens that the session took from its address in advance. */
  byAhead = 0;
  byUser = 0;
  /** The factor of the payer's rates at the last charge. */
  tier = 1;
  payer: Payer | null = null;
  /** The {@link signInKey} of a sign-in attempt, which pays like a user. */
  signIn: PartyKey | null = null;

  /** `sender.address` is read only when needed. */
  constructor(readonly sender: { readonly address: AddressKey }) {}

  get userKey(): PartyKey | null {
    return this.signIn ?? this.payer?.payerId ?? null;
  }

  get paid(): number {
    return this.byAddress + this.byAhead || this.byUser;
  }
}

const AHEAD_MAX = 16;
/** At most one part in this many of the address's burst is taken in advance. */
const AHEAD_PART = 16;
/** Limit of free answers per address. Above it, each closes its connection. */
const FREE_ANSWERS: Rate = { perSecond: 1_000, burst: 2_000 };

export class FairUse {
  private readonly buckets: Record<Quota, Record<Party, TokenBuckets<PartyKey> | null>>;
  private readonly tiers = new Map<number, number>();
  private readonly refused: Record<Quota, Record<Party, number>>;
  private readonly freeAnswers = new TokenBuckets<PartyKey>(FREE_ANSWERS);

  constructor(
    readonly rates: FairUseRates,
    private readonly elapsedMs: ElapsedMs,
  ) {
    this.buckets = forEachQuota((quota, party) => {
      const rate = rates[quota][party];
      return rate === null ? null : new TokenBuckets<PartyKey>(rate);
    });
    this.refused = forEachQuota(() => 0);
  }

  setTier(userId: number, tier: number): void {
    this.tiers.set(userId, tier);
  }

  /**
   * Charges `count` units in total, or nothing if a bucket lacks them. Returns the state of the
   * user's bucket, or else of the address's; if refused, of the one with the longer wait. `null` if
   * there is no limit or tokens taken in advance suffice.
   */
  charge(quota: Quota, bill: Bill, count: number): RateLimitResult | null {
    this.giveBack(bill);
    bill.quota = quota;
    bill.tier = this.tierOf(quota, bill.payer);
    const { address, user } = this.buckets[quota];
    if (address === null && user === null) return null;
    const nowMs = this.elapsedMs();
    const ofAddress = this.payByAddress(quota, bill, count, nowMs);
    if (ofAddress === false || !this.payByUser(quota, bill, count, nowMs)) {
      this.giveBack(bill);
      return this.refusal(quota, bill, count, nowMs);
    }
    if (user !== null && bill.userKey !== null)
      return { granted: true, ...user.state(bill.tier), waitMs: 0 };
    return ofAddress === null ? null : { granted: true, ...address!.state(bill.tier), waitMs: 0 };
  }

  /** Without checking limits. Returns a bucket's state like {@link charge}. */
  owe(bill: Bill, count: number): RateLimitState | null {
    const { address, user } = this.buckets[bill.quota];
    const { userKey, tier } = bill;
    const nowMs = this.elapsedMs();
    address?.owe(bill.sender.address, count / tier, nowMs);
    if (user === null || userKey === null) return address?.state(tier) ?? null;
    user.owe(userKey, count / tier, nowMs);
    return user.state(tier);
  }

  /** Returns whether the address exceeds the rate of free answers. */
  countFree(address: AddressKey, count = 1): boolean {
    if (this.rates.reads.address === null) return false;
    return !this.freeAnswers.take(address, count, this.elapsedMs());
  }

  giveBack(bill: Bill): void {
    const { quota, tier } = bill;
    const { address, user } = this.buckets[quota];
    if (bill.byAddress > 0) address!.giveBack(bill.sender.address, bill.byAddress / tier);
    if (bill.byAhead > 0) aheadOf(bill.payer!)[quota] += bill.byAhead;
    if (bill.byUser > 0) user!.giveBack(bill.userKey!, bill.byUser / tier);
    bill.byAddress = 0;
    bill.byAhead = 0;
    bill.byUser = 0;
  }

  /** Sign-ins have no tiers: a password hash costs the same for every user. */
  private tierOf(quota: Quota, payer: Payer | null): number {
    return quota === 'signIns' || payer === null ? 1 : (this.tiers.get(payer.payerId) ?? 1);
  }

  /** Returns `null` if nothing was taken from the bucket. */
  private payByAddress(quota: Quota, bill: Bill, count: number, nowMs: number): boolean | null {
    const buckets = this.buckets[quota].address;
    if (buckets === null) return null;
    const ahead = bill.payer === null ? null : aheadOf(bill.payer);
    const byAhead = ahead === null ? 0 : Math.min(ahead[quota], count);
    const lacking = count - byAhead;
    if (lacking > 0) {
      const { tier } = bill;
      const { address } = bill.sender;
      const step = ahead === null ? 0 : this.stepOf(quota);
      const isStep = step > lacking && buckets.waitMs(address, step / tier, nowMs) === 0;
      if (!buckets.take(address, (isStep ? step : lacking) / tier, nowMs)) return false;
      if (isStep) ahead![quota] += step - lacking;
    }
    if (byAhead > 0) ahead![quota] -= byAhead;
    bill.byAhead = byAhead;
    bill.byAddress = lacking;
    return lacking > 0 ? true : null;
  }

  private stepOf(quota: Quota): number {
    return Math.min(AHEAD_MAX, Math.floor(this.rates[quota].address!.burst / AHEAD_PART));
  }

  private payByUser(quota: Quota, bill: Bill, count: number, nowMs: number): boolean {
    const buckets = this.buckets[quota].user;
    const { userKey } = bill;
    if (buckets === null || userKey === null) return true;
    if (!buckets.take(userKey, count / bill.tier, nowMs)) return false;
    bill.byUser = count;
    return true;
  }

  private refusal(quota: Quota, bill: Bill, count: number, nowMs: number): RateLimitResult {
    const { address, user } = this.buckets[quota];
    const { payer, userKey, tier } = bill;
    const fromAddress = count - (payer === null ? 0 : aheadOf(payer)[quota]);
    const addressMs = address?.waitMs(bill.sender.address, fromAddress / tier, nowMs) ?? 0;
    const userMs = userKey === null ? 0 : (user?.waitMs(userKey, count / tier, nowMs) ?? 0);
    const party = userMs > addressMs ? 'user' : 'address';
    this.refused[quota][party]++;
    const state = this.buckets[quota][party]!.state(tier);
    return { granted: false, ...state, waitMs: Math.max(userMs, addressMs) };
  }

  refusedCount(quota: Quota, party: Party): number {
    return this.refused[quota][party];
  }
}

function aheadOf(payer: Payer): Record<Quota, number> {
  payer.ahead ??= { orders: 0, cancels: 0, reads: 0, signIns: 0 };
  return payer.ahead;
}

function forEachQuota<T>(make: (quota: Quota, party: Party) => T): Record<Quota, Record<Party, T>> {
  const entries = QUOTAS.map((quota) => [
    quota,
    Object.fromEntries(PARTIES.map((party) => [party, make(quota, party)])),
  ]);
  return Object.fromEntries(entries) as Record<Quota, Record<Party, T>>;
}
