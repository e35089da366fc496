/**
 * Fair use: how much one user and one address may ask for, so that nobody takes the exchange away from the others. Orders, reads
 * and signing in are counted apart, each in a bucket of the user's and one of the address's.
 *
 * To ask a socket for its address costs as much as a tenth of an order. So for somebody who is signed in, the address is asked for
 * some tokens ahead, and not again until those are used up.
 *
 * It is about requests from outside. The house and the exchange itself do not pass here.
 */
import type { AddressKey } from './addresses.js';
import { type ElapsedMs, type Rate, TokenBuckets } from './token-buckets.js';

/** What is counted: changes, reads, and what works on a password. */
export const QUOTAS = ['orders', 'reads', 'signIns'] as const;
export type Quota = (typeof QUOTAS)[number];
export const PARTIES = ['user', 'address'] as const;
export type Party = (typeof PARTIES)[number];

/** null: no limit. */
export type FairUseRates = Record<Quota, Record<Party, Rate | null>>;

/** An address; a user's number; of a try to sign in, {@link triedKey}, which is neither. */
export type PartyKey = AddressKey;

/** Longer than any user's name, so that cutting it makes no name another's. */
const TRIED_LENGTH_MAX = 21;

/**
 * What a try to sign in is counted by: the name as it was sent, whether it is a user's or not, so that what is left tells
 * nothing about accounts; and the address, so that a stranger's wrong passwords do not keep the owner out.
 */
export function triedKey(address: AddressKey, username: string): PartyKey {
  return `${address} ${username.toLowerCase().slice(0, TRIED_LENGTH_MAX)}`;
}

/** What came of asking for tokens. */
export interface Share {
  granted: boolean;
  /** The rest of the bucket, in the form of {@link writeShare}. */
  limit: number;
  remaining: number;
  resetSeconds: number;
  /** How long to wait; 0 if granted. */
  waitMs: number;
}

/** Tokens that are taken ahead at most. */
const AHEAD_MAX = 16;
/** And at most this part of what an address may have at once. */
const AHEAD_PART = 16;

export class FairUse {
  private readonly buckets: Record<Quota, Record<Party, TokenBuckets<PartyKey> | null>>;
  /** By session: tokens of an address that are not used up. */
  private readonly ahead = new WeakMap<object, Record<Quota, number>>();
  private readonly refused: Record<Quota, Record<Party, number>>;

  constructor(
    private readonly rates: FairUseRates,
    private readonly elapsedMs: ElapsedMs,
  ) {
    this.buckets = forEachQuota((quota, party) => {
      const rate = rates[quota][party];
      return rate === null ? null : new TokenBuckets<PartyKey>(rate);
    });
    this.refused = forEachQuota(() => 0);
  }

  /** Whether anything of this kind is limited at all. */
  limits(quota: Quota, party: Party): boolean {
    return this.buckets[quota][party] !== null;
  }

  /** The most that can be asked for at once; Infinity: there is no limit. */
  most(quota: Quota, party: Party): number {
    return this.rates[quota][party]?.burst ?? Number.POSITIVE_INFINITY;
  }

  /** Asks for `count` tokens: all or none. null: there is no limit. */
  take(quota: Quota, party: Party, key: PartyKey, count: number): Share | null {
    const buckets = this.buckets[quota][party];
    if (buckets === null) return null;
    const granted = buckets.take(key, count, this.elapsedMs());
    if (!granted) this.refused[quota][party]++;
    return { granted, ...buckets.state, waitMs: granted ? 0 : buckets.waitMs };
  }

  /**
   * The same from an address that somebody who is signed in comes from; `addressOf` finds it out. null: there is no limit, or
   * enough was taken ahead.
   */
  takeOfAddress(session: object, quota: Quota, addressOf: () => AddressKey, count: number): Share | null {
    const rate = this.rates[quota].address;
    if (rate === null) return null;
    let ahead = this.ahead.get(session);
    if (ahead === undefined) {
      ahead = { orders: 0, reads: 0, signIns: 0 };
      this.ahead.set(session, ahead);
    }
    if (ahead[quota] >= count) {
      ahead[quota] -= count;
      return null;
    }
    const address = addressOf();
    const wanted = Math.max(count, Math.min(AHEAD_MAX, Math.floor(rate.burst / AHEAD_PART)));
    if (!this.buckets[quota].address!.has(address, wanted, this.elapsedMs())) {
      return this.take(quota, 'address', address, count);
    }
    ahead[quota] += wanted - count;
    return this.take(quota, 'address', address, wanted);
  }

  /** Requests that were refused, since the start. */
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
