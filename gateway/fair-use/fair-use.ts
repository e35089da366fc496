/**
 * Fair use: rate limits, so that no client slows down the others. Orders, cancels, reads and
 * sign-ins of clients are counted separately, so a client that has used up its limit of orders can
 * still cancel them. Each is counted in a token bucket of the user and one of the address.
 *
 * Reading a socket's address takes up to a tenth of an order's time. So for a signed-in user,
 * tokens of the address are taken in advance, and it is not read again until they are used up.
 */
import type { AddressKey } from './addresses.js';
import { type ElapsedMs, type Rate, TokenBuckets } from './token-buckets.js';

/** What is counted: changes, cancels, reads; attempts to sign in and new tokens together. */
export const QUOTAS = ['orders', 'cancels', 'reads', 'signIns'] as const;
export type Quota = (typeof QUOTAS)[number];
export const PARTIES = ['user', 'address'] as const;
type Party = (typeof PARTIES)[number];

/** null: no limit. */
export type FairUseRates = Record<Quota, Record<Party, Rate | null>>;

/** An address, a user's number, or {@link signInKey} for an attempt to sign in. */
type PartyKey = AddressKey;

/** Longer than any username, so that truncation never yields an existing one. */
const NAME_LENGTH_MAX = 21;

/**
 * The key for sign-in attempts: the name as sent, so that the remaining count does not reveal
 * whether it exists, and the address, so that others cannot lock the owner out.
 */
export function signInKey(address: AddressKey, username: string): PartyKey {
  return `${address} ${username.toLowerCase().slice(0, NAME_LENGTH_MAX)}`;
}

/** The result of taking tokens. */
export interface RateLimitResult {
  granted: boolean;
  /** The state of the bucket, as in the RateLimit headers. */
  limit: number;
  remaining: number;
  resetSeconds: number;
  /** Time until a retry can succeed; 0 if granted. */
  waitMs: number;
}

/** What tokens are taken for: a client's session, and where its requests come from. */
export interface Sender {
  /** Only read if needed. */
  readonly address: AddressKey;
}

/** A session, with the tokens of its address that were taken in advance. */
export interface Prepaid {
  ahead: Record<Quota, number> | null;
}

/** Maximum number of tokens taken in advance. */
const AHEAD_MAX = 16;
/** At most the burst of the address divided by this is taken in advance. */
const AHEAD_PART = 16;

export class FairUse {
  private readonly buckets: Record<Quota, Record<Party, TokenBuckets<PartyKey> | null>>;
  private readonly refused: Record<Quota, Record<Party, number>>;

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

  /** Whether there is a limit. */
  limits(quota: Quota, party: Party): boolean {
    return this.buckets[quota][party] !== null;
  }

  /** The largest count that can be taken; Infinity: no limit. */
  most(quota: Quota, party: Party): number {
    return this.rates[quota][party]?.burst ?? Number.POSITIVE_INFINITY;
  }

  /** Takes `count` tokens, all or none. null: no limit. */
  take(quota: Quota, party: Party, key: PartyKey, count: number): RateLimitResult | null {
    const buckets = this.buckets[quota][party];
    if (buckets === null) return null;
    const granted = buckets.take(key, count, this.elapsedMs());
    if (!granted) this.refused[quota][party]++;
    return { granted, ...buckets.state, waitMs: granted ? 0 : buckets.waitMs };
  }

  /**
   * Like {@link take}, for the address of a session. null: no limit, or enough tokens were taken in
   * advance.
   */
  takeFromAddress(
    session: Prepaid,
    quota: Quota,
    sender: Sender,
    count: number,
  ): RateLimitResult | null {
    const rate = this.rates[quota].address;
    if (rate === null) return null;
    session.ahead ??= { orders: 0, cancels: 0, reads: 0, signIns: 0 };
    const { ahead } = session;
    if (ahead[quota] >= count) {
      ahead[quota] -= count;
      return null;
    }
    const { address } = sender;
    const wanted = Math.max(count, Math.min(AHEAD_MAX, Math.floor(rate.burst / AHEAD_PART)));
    if (!this.buckets[quota].address!.has(address, wanted, this.elapsedMs())) {
      return this.take(quota, 'address', address, count);
    }
    ahead[quota] += wanted - count;
    return this.take(quota, 'address', address, wanted);
  }

  /** Requests refused since the start. */
  refusedCount(quota: Quota, party: Party): number {
    return this.refused[quota][party];
  }
}

function forEachQuota<T>(make: (quota: Quota, party: Party) => T): Record<Quota, Record<Party, T>> {
  const entries = QUOTAS.map((quota) => [
    quota,
    Object.fromEntries(PARTIES.map((party) => [party, make(quota, party)])),
  ]);
  return Object.fromEntries(entries) as Record<Quota, Record<Party, T>>;
}
