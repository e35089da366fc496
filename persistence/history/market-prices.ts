/**
 * A market as the history tells it, put together from its events alone, and its row.
 *
 * The price history of a market has a point at every 5 s mark from its opening to its end, both included. A point tells
 * the state after the last command before the mark; the point of the opening tells a market without a book or a trade. A
 * market that opens late, with the first price that arrives, has its first point at that time.
 */

import {
  MarketStatus,
  MatchType,
  Resolution,
  startOfMarketMs,
  ticksIn,
  WINDOW_MS,
} from '../../engine/interface/domain.js';
import { addSaturating } from '../../engine/storage/arithmetic.js';
import { checksumOf, MARKET, type RowOf } from './format.js';
import type { RecordBuffer } from './records.js';

export const MARK_MS = 5_000;

/** One trade, as its event tells it. */
export interface MarketTrade {
  matchType: number;
  upTicks: number;
  sizeLots: number;
  takerOutcome: number;
}

export class MarketHistory {
  previousId = 0;
  status: number = MarketStatus.ACTIVE;
  resolution: number = Resolution.NONE;
  openedAtMs = 0;
  startPriceMicros = 0;
  endPriceMicros = 0;
  resolvedAtMs = 0;
  volumeMicros = 0;
  openInterestLots = 0;
  lastTradeTicks = 0;
  tradeCount = 0;
  vaultMicros = 0;
  referrersMicros = 0;
  treasuryMicros = 0;
  isClosed = 0;
  /** Of the command that changed the row last, and of the one that made the last point. */
  sequence = 0;
  pointsSequence = 0;
  /** The price history so far: of each point its time, UP's price in half ticks, the asset's price in micros (0: none). */
  readonly points: number[] = [];

  constructor(readonly marketId: number) {}

  get endsAtMs(): number {
    return startOfMarketMs(this.marketId) + WINDOW_MS;
  }

  addTrade({ matchType, upTicks, sizeLots, takerOutcome }: MarketTrade): void {
    const takerTicks = ticksIn(takerOutcome, upTicks);
    this.tradeCount++;
    this.lastTradeTicks = upTicks;
    this.volumeMicros = addSaturating(this.volumeMicros, sizeLots * takerTicks);
    if (matchType === MatchType.MINT) this.openInterestLots += sizeLots;
    else if (matchType === MatchType.MERGE) this.openInterestLots -= sizeLots;
  }

  addPoint(point: { atMs: number; upHalfTicks: number; assetPriceMicros: number; sequence: number }): void {
    this.points.push(point.atMs, point.upHalfTicks, point.assetPriceMicros);
    this.pointsSequence = point.sequence;
  }

  /** Its row, as records hold it. */
  writeRow(records: RecordBuffer): void {
    const row = [
      this.marketId,
      this.previousId,
      this.status,
      this.resolution,
      this.openedAtMs,
      this.startPriceMicros,
      this.endPriceMicros,
      this.resolvedAtMs,
      this.volumeMicros,
      this.openInterestLots,
      this.lastTradeTicks,
      this.tradeCount,
      this.vaultMicros,
      this.referrersMicros,
      this.treasuryMicros,
      this.isClosed,
      this.sequence,
    ];
    for (const value of row) records.put(value);
    records.put(checksumOf(MARKET.tag, row));
  }

  static fromRow(row: RowOf<typeof MARKET>, points: Iterable<number>, pointsSequence: number): MarketHistory {
    const { marketId, checksum: _, ...fields } = row;
    const market = Object.assign(new MarketHistory(marketId), fields, { pointsSequence });
    market.points.push(...points);
    return market;
  }
}
