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

const PAUSE_MS = 15;
/** Of how many lists one is the whole list, to find markets that were missed. */
const WHOLE_LIST_EVERY = 20;
const PAGE = 200;

/**
 * The list comes from the history, which may be slow. Who trades needs the active market at once,
 * so each is read in a loop of its own.
 */
export class MarketWatch {
  readonly resolved = new Map<string, SeenMarket>();
  active: SeenMarket | null = null;
  /** The exchange's time before the last list was read: what was resolved then is in it. */
  nowMs = 0;
  /** Of the last answer about the active market. */
  private activeAtMs = 0;
  private lists = 0;
  private over = false;
  private watching: Promise<unknown> | null = null;
  private failure: unknown = null;

  constructor(private readonly api: ApiClient) {}

  start(): void {
    const watching = [this.readActive(), this.readLists()];
    this.watching = Promise.all(watching).catch((error: unknown) => {
      this.failure = error;
      this.over = true;
    });
  }

  /** Throws the error that occurred while watching, if any. */
  async stop(): Promise<void> {
    this.over = true;
    await this.watching;
    this.check();
  }

  check(): void {
    if (this.failure !== null) throw this.failure;
  }

  private async readActive(): Promise<void> {
    while (!this.over) {
      const active = await this.api.get('/markets/15m?asset=BTC');
      expect(active.status, active.text).toBe(200);
      this.active = active.json.markets[0] ?? null;
      this.activeAtMs = active.json.serverTimeMs;
      await pause();
    }
  }

  private async readLists(): Promise<void> {
    while (!this.over) {
      const atMs = this.activeAtMs;
      const limit = this.lists++ % WHOLE_LIST_EVERY === 0 ? PAGE : 3;
      const list = await this.api.read(`/markets?asset=BTC&limit=${limit}`);
      for (const market of list.json.markets as SeenMarket[]) this.see(market);
      this.nowMs = atMs;
      await pause();
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

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
