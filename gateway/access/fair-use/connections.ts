/**
 * Limits on connections, in total and per address, whose share shrinks as the total fills up.
 *
 * uWebSockets.js reports that a connection closed, but not which one. An address's count is
 * therefore the number of connections that it opened within one to two {@link IDLE_MS}. While more
 * than half of the total is open, its requests in that time count as well, because a connection
 * without requests is closed after {@link IDLE_MS}. The stream counts open WebSockets itself.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { type AddressKey, addressKey } from './addresses.js';
import { mayTake } from './shares.js';
import type { ElapsedMs } from './token-buckets.js';

/** uWebSockets.js closes a connection that is idle or incomplete for this long. */
const IDLE_MS = 10_000;
/** Every address is assured one part in this many, so that a browser can use the site. */
const ASSURED_PART = 400;

export interface ConnectionLimits {
  total: number;
  /** Connections within one to two {@link IDLE_MS}; 0 for no limit. */
  perAddress: number;
  /** Open WebSockets; 0 for no limit. */
  streamsPerAddress: number;
}

export interface Upgrades {
  readonly upgradedCount: number;
  readonly connectionCount: number;
}

export interface OtherConnections {
  /** Reports this thread's count. Called before {@link count}. */
  tell(own: number): void;
  count(): number;
}

const NO_OTHERS: OtherConnections = { tell: () => {}, count: () => 0 };

export class ConnectionCap {
  private readonly byAddress: RecentCounts;
  private balance = 0;
  private refusedTotal = 0;
  private refusedAddress = 0;
  private isCrowded = false;

  constructor(
    private readonly limits: ConnectionLimits,
    private readonly upgrades: Upgrades,
    elapsedMs: ElapsedMs,
    private readonly others: OtherConnections = NO_OTHERS,
    private readonly isKnown: (address: AddressKey) => boolean = () => false,
  ) {
    this.byAddress = new RecentCounts(elapsedMs);
  }

  get httpCount(): number {
    return this.balance - this.upgrades.upgradedCount;
  }

  get refusedCounts(): { total: number; address: number } {
    return { total: this.refusedTotal, address: this.refusedAddress };
  }

  /** Call when a connection opens (1) or closes (-1), even if it is refused. */
  changed(response: HttpResponse, change: number): void {
    this.balance += change;
    this.tellOthers();
    const open = this.openCount + this.others.count();
    this.isCrowded = this.limits.perAddress > 0 && open * 2 > this.limits.total;
    if (change < 0) return;
    if (open > this.limits.total) {
      this.refusedTotal++;
      response.close();
    } else if (!this.admit(response, open - 1)) {
      this.refusedAddress++;
      response.close();
    }
  }

  /** Call for each request, which renews the address's count. */
  requested(response: HttpResponse): void {
    if (this.isCrowded) this.byAddress.add(addressKey(response.getRemoteAddress()));
  }

  /** Call regularly, because {@link changed} is not called for closed WebSockets. */
  tellOthers(): void {
    this.others.tell(this.openCount);
  }

  private get openCount(): number {
    return this.httpCount + this.upgrades.connectionCount;
  }

  /** `used` excludes this connection. */
  private admit(response: HttpResponse, used: number): boolean {
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

/** Counts over the last one to two {@link IDLE_MS}. */
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
