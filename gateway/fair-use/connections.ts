/**
 * A cap on connections: in all, and on new ones from one address.
 *
 * uWebSockets.js tells that a connection has been opened, and by whom, and that one has been closed, but not which. So what is
 * counted by address is how many are opened within the time after which uWebSockets.js closes one that does nothing: an
 * address that only holds connections open holds twice the cap at the most. A WebSocket's end is not told either; the
 * stream counts those.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { Door } from '../http/door.js';
import { addressKey } from './addresses.js';
import { type ElapsedMs, TokenBuckets } from './token-buckets.js';

/** What uWebSockets.js allows a connection between two requests, and a request until it is complete. */
const IDLE_SECONDS = 10;

export interface ConnectionLimits {
  /** Open at once, WebSockets included. */
  total: number;
  /** From one address within {@link IDLE_SECONDS}; 0: no limit. */
  perAddress: number;
  /** WebSockets of one address, open at once; 0: no limit. */
  streamsPerAddress: number;
}

/** WebSockets: how many were ever made of a connection, and how many are open. */
export interface Upgrades {
  readonly upgradedCount: number;
  readonly connectionCount: number;
}

export class ConnectionCap {
  private readonly byAddress: TokenBuckets<number | string> | null;
  /** Opened less closed, as far as it was told. */
  private balance = 0;
  private refusedTotal = 0;
  private refusedAddress = 0;

  constructor(
    private readonly limits: ConnectionLimits,
    private readonly upgrades: Upgrades,
    private readonly elapsedMs: ElapsedMs,
  ) {
    const { perAddress } = limits;
    const rate = { perSecond: perAddress / IDLE_SECONDS, burst: perAddress };
    this.byAddress = perAddress === 0 ? null : new TokenBuckets(rate);
  }

  attach(door: Door): void {
    door.onConnection((response, change) => this.changed(response, change));
  }

  /** Connections that are not WebSockets. */
  get httpCount(): number {
    return this.balance - this.upgrades.upgradedCount;
  }

  get refusedCounts(): { total: number; address: number } {
    return { total: this.refusedTotal, address: this.refusedAddress };
  }

  /** Closing is told of as well, so what is refused here counts as opened. */
  private changed(response: HttpResponse, change: number): void {
    this.balance += change;
    if (change < 0) return;
    if (this.httpCount + this.upgrades.connectionCount > this.limits.total) {
      this.refusedTotal++;
      response.close();
    } else if (!this.isWelcome(response)) {
      this.refusedAddress++;
      response.close();
    }
  }

  private isWelcome(response: HttpResponse): boolean {
    if (this.byAddress === null) return true;
    return this.byAddress.take(addressKey(response.getRemoteAddress()), 1, this.elapsedMs());
  }
}
