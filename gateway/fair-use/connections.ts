/**
 * Limits on connections: in total, and on new ones from one address.
 *
 * uWebSockets.js reports that a connection has closed, but not which. So the limit by address
 * counts the connections opened within the time after which uWebSockets.js closes an idle one: an
 * address can hold at most twice the limit open and idle. One that it keeps using counts in the
 * total alone, and for fair use. The stream counts open WebSockets itself.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { addressKey } from './addresses.js';
import { type ElapsedMs, TokenBuckets } from './token-buckets.js';

/** uWebSockets.js closes a connection that is idle, or its request incomplete, for this long. */
const IDLE_SECONDS = 10;

export interface ConnectionLimits {
  /** Open at a time, WebSockets included. */
  total: number;
  /** From one address within {@link IDLE_SECONDS}; 0: no limit. */
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
  private readonly byAddress: TokenBuckets<number | string> | null;
  /** Connections reported open less those reported closed. */
  private balance = 0;
  private refusedTotal = 0;
  private refusedAddress = 0;

  constructor(
    private readonly limits: ConnectionLimits,
    private readonly upgrades: Upgrades,
    private readonly elapsedMs: ElapsedMs,
    private readonly others: OtherConnections = NO_OTHERS,
  ) {
    const { perAddress } = limits;
    const rate = { perSecond: perAddress / IDLE_SECONDS, burst: perAddress };
    this.byAddress = perAddress === 0 ? null : new TokenBuckets(rate);
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
    if (change < 0) return;
    if (this.openCount + this.others.count() > this.limits.total) {
      this.refusedTotal++;
      response.close();
    } else if (!this.isAllowed(response)) {
      this.refusedAddress++;
      response.close();
    }
  }

  /** To be called regularly: a WebSocket that closes is not reported here. */
  tellOthers(): void {
    this.others.tell(this.openCount);
  }

  private get openCount(): number {
    return this.httpCount + this.upgrades.connectionCount;
  }

  private isAllowed(response: HttpResponse): boolean {
    if (this.byAddress === null) return true;
    return this.byAddress.take(addressKey(response.getRemoteAddress()), 1, this.elapsedMs());
  }
}
