/**
 * Limits on connections: in total, and on each address, whose share shrinks as they fill up.
 *
 * uWebSockets.js reports that a connection has closed, but not which. So an address counts as
 * having what it opened within the time after which uWebSockets.js closes an idle connection, or
 * up to twice that, and while more than half of all are open also what it requested: to keep a
 * connection it must do either. The stream counts open WebSockets itself.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { type AddressKey, addressKey } from './addresses.js';
import { mayTake } from './shares.js';
import type { ElapsedMs } from './token-buckets.js';

/** uWebSockets.js closes a connection that is idle, or its request incomplete, for this long. */
const IDLE_MS = 10_000;
/** This part of all is assured to an address, so that a browser can use the site. */
const ASSURED_PART = 400;

export interface ConnectionLimits {
  /** Open at a time, WebSockets included. */
  total: number;
  /** From one address within one to two {@link IDLE_MS}; 0: no limit. */
  perAddress: number;
  /** Open WebSockets from one address; 0: no limit. */
  streamsPerAddress: number;
}

/** WebSockets: how many connections were upgraded since the start, and how many are open. */
export interface Upgrades {
  readonly upgradedCount: number;
  readonly connectionCount: number;
}

/** The connections that other threads of this process have. */
export interface OtherConnections {
  /** Tells them how many this thread has, before it looks how many they have. */
  tell(own: number): void;
  count(): number;
}

const NO_OTHERS: OtherConnections = { tell: () => {}, count: () => 0 };

export class ConnectionCap {
  private readonly byAddress: RecentCounts;
  /** Connections reported open less those reported closed. */
  private balance = 0;
  private refusedTotal = 0;
  private refusedAddress = 0;
  /** More than half of all are open, and addresses are limited. */
  private isCrowded = false;

  constructor(
    private readonly limits: ConnectionLimits,
    private readonly upgrades: Upgrades,
    elapsedMs: ElapsedMs,
    private readonly others: OtherConnections = NO_OTHERS,
    /** Whether somebody has signed in from there. */
    private readonly isKnown: (address: AddressKey) => boolean = () => false,
  ) {
    this.byAddress = new RecentCounts(elapsedMs);
  }

  /** Connections that are not WebSockets. */
  get httpCount(): number {
    return this.balance - this.upgrades.upgradedCount;
  }

  get refusedCounts(): { total: number; address: number } {
    return { total: this.refusedTotal, address: this.refusedAddress };
  }

  /** To be called for each connection that opens (1) or closes (-1), refused ones included. */
  changed(response: HttpResponse, change: number): void {
    this.balance += change;
    this.tellOthers();
    const open = this.openCount + this.others.count();
    this.isCrowded = this.limits.perAddress > 0 && open * 2 > this.limits.total;
    if (change < 0) return;
    if (open > this.limits.total) {
      this.refusedTotal++;
      response.close();
    } else if (!this.isAllowed(response, open - 1)) {
      this.refusedAddress++;
      response.close();
    }
  }

  /** To be called for each request: what an address uses, it keeps. */
  requested(response: HttpResponse): void {
    if (this.isCrowded) this.byAddress.add(addressKey(response.getRemoteAddress()));
  }

  /** To be called regularly: a WebSocket that closes is not reported here. */
  tellOthers(): void {
    this.others.tell(this.openCount);
  }

  private get openCount(): number {
    return this.httpCount + this.upgrades.connectionCount;
  }

  /** `used`: what is open without this one. */
  private isAllowed(response: HttpResponse, used: number): boolean {
    const { total, perAddress } = this.limits;
    if (perAddress === 0) return true;
    const address = addressKey(response.getRemoteAddress());
    const mine = this.byAddress.of(address);
    const assured = Math.ceil(total / ASSURED_PART);
    const isTrusted = this.isKnown(address);
    if (mine >= perAddress || !mayTake({ size: total, used, mine, assured, isTrusted }))
      return false;
    this.byAddress.add(address);
    return true;
  }
}

/** Counts of the last {@link IDLE_MS}, and of up to as much before. */
class RecentCounts {
  private recent = new Map<AddressKey, number>();
  private earlier = new Map<AddressKey, number>();
  private sinceMs = 0;

  constructor(private readonly elapsedMs: ElapsedMs) {}

  of(address: AddressKey): number {
    this.forgetOld();
    return (this.recent.get(address) ?? 0) + (this.earlier.get(address) ?? 0);
  }

  add(address: AddressKey): void {
    this.forgetOld();
    this.recent.set(address, (this.recent.get(address) ?? 0) + 1);
  }

  private forgetOld(): void {
    const nowMs = this.elapsedMs();
    const passedMs = nowMs - this.sinceMs;
    if (passedMs < IDLE_MS) return;
    this.earlier = passedMs < 2 * IDLE_MS ? this.recent : new Map();
    this.recent = new Map();
    this.sinceMs = nowMs;
  }
}
