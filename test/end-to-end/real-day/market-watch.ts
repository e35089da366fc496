/**
 * Watches the markets of a running exchange over HTTP: which one is active, and how each was
 * resolved. A resolved market never changes.
 */
import { expect } from 'vitest';
import type { ApiClient } from '../../support/server.js';
import type { ResolutionName } from './user-ledger.js';

export interface SeenMarket {
  id: string;
  status: 'active' | 'ended' | 'resolved';
  resolution: ResolutionName | null;
  startsAtMs: number;
  endsAtMs: number;
  startPrice: number;
  endPrice: number | null;
  volume: number;
}

const POLL_MS = 15;
/** How often, in polls, the whole list is read, to find markets that were missed. */
const WHOLE_LIST_EVERY = 20;
const PAGE = 200;

export class MarketWatch {
  readonly resolved = new Map<string, SeenMarket>();
  active: SeenMarket | null = null;
  /** The exchange's time at the last complete poll. */
  nowMs = 0;
  private polls = 0;
  private over = false;
  private polling: Promise<void> | null = null;
  private failure: unknown = null;

  constructor(private readonly api: ApiClient) {}

  start(): void {
    this.polling = this.poll().catch((error: unknown) => {
      this.failure = error;
    });
  }

  /** Throws the error that occurred while watching, if any. */
  async stop(): Promise<void> {
    this.over = true;
    await this.polling;
    this.check();
  }

  check(): void {
    if (this.failure !== null) throw this.failure;
  }

  private async poll(): Promise<void> {
    while (!this.over) {
      const active = await this.api.get('/markets/15m?asset=BTC');
      expect(active.status, active.text).toBe(200);
      this.active = active.json.markets[0] ?? null;
      const limit = this.polls++ % WHOLE_LIST_EVERY === 0 ? PAGE : 3;
      const list = await this.api.read(`/markets?asset=BTC&limit=${limit}`);
      for (const market of list.json.markets as SeenMarket[]) this.see(market);
      this.nowMs = active.json.serverTimeMs;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  private see(market: SeenMarket): void {
    if (market.status !== 'resolved') return;
    const { id, startPrice, endPrice, resolution, volume } = market;
    const before = this.resolved.get(id);
    if (before === undefined) this.resolved.set(id, market);
    else {
      const { startPrice: start, endPrice: end, resolution: outcome, volume: traded } = before;
      expect([startPrice, endPrice, resolution, volume]).toEqual([start, end, outcome, traded]);
    }
  }
}
