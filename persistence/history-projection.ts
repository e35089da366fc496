/**
 * From the engine's events to rows of history. A pure function of the commands: the same journal makes the same rows,
 * whenever it is read and however it is cut into transactions.
 *
 * For each command, `applying` is called before the engine applies it and `applied` after. What has come together is
 * taken out at the end of a journal batch with `take`, and written in one transaction (history-store.ts).
 */
import { assetOfMarket, MarketStatus, Outcome, startOfMarketMs } from '../engine/domain.js';
import { EVENT_FIELDS, EVENT_LENGTHS, EventType } from '../engine/events.js';
import { MICROS_PER_SET } from '../engine/limits.js';
import type { Tape } from '../engine/tape.js';
import type { MarketView } from '../engine/views.js';
import { ListCounts } from './history-counts.js';
import { CLOSED_POSITION, MARKET, MARKET_TRADE, POINTS_CREDIT, USER_TRADE } from './history-format.js';
import { EVEN_HALF_TICKS, MARK_MS, MarketHistory } from './history-market.js';
import { RecordBuffer } from './history-records.js';

/** What the projection reads of the engine that it follows. */
export interface ProjectedEngine {
  readonly sequence: number;
  readonly nowMs: number;
  readonly events: Tape;
  readonly assetCount: number;
  assetPriceMicros(asset: number): number | null;
  market(marketId: number): MarketView | null;
}

/** Where the history stands: what the next rows are numbered from. */
export interface HistoryState {
  userTrades: ListCounts;
  pointsCredits: ListCounts;
  closedPositions: ListCounts;
  /** Markets that the engine has not forgotten, oldest first. */
  markets: MarketHistory[];
  /** The newest market of each asset, by asset; 0 or missing: none. */
  lastMarketIds: number[];
}

export function emptyHistoryState(): HistoryState {
  return {
    userTrades: new ListCounts(),
    pointsCredits: new ListCounts(),
    closedPositions: new ListCounts(),
    markets: [],
    lastMarketIds: [],
  };
}

/** Price points of one market, whole: they replace what was there. */
export interface PricesRow {
  marketId: number;
  points: Float64Array;
  sequence: number;
}

/** What one transaction writes. */
export interface HistoryRows {
  userTrades: Buffer[];
  marketTrades: Buffer[];
  pointsCredits: Buffer[];
  closedPositions: Buffer[];
  markets: Buffer[];
  prices: PricesRow[];
  /** Rows that the transaction adds to each list, by user, in no order that matters. */
  userTradeIds: number[];
  pointsCreditIds: number[];
  closedPositionIds: number[];
  /** Rows that it adds: to marketTrade, and to market. */
  marketTradeCount: number;
  openedIds: number[];
  /** Markets that ended. */
  endedIds: number[];
}

const { trade, positionSettled, pointsCredited, feesShared } = EventType;
const { priceObserved, marketOpened, startPriceFixed, marketEnded, marketResolved, marketClosed } = EventType;

/** Where a field of an event stands, counted from the event's start. */
function fieldsOf<Name extends keyof typeof EVENT_FIELDS>(name: Name) {
  const names: readonly string[] = EVENT_FIELDS[name];
  return Object.fromEntries(names.map((field, i) => [field, i + 1])) as Record<
    (typeof EVENT_FIELDS)[Name][number],
    number
  >;
}
const Trade = fieldsOf('trade');
const Settled = fieldsOf('positionSettled');
const Credited = fieldsOf('pointsCredited');
const Shared = fieldsOf('feesShared');
const Resolved = fieldsOf('marketResolved');

const TAKER = 0;
const MAKER = 1;

export class Projection {
  /** Rows that wait to be taken. */
  get pendingRows(): number {
    return this.userTrades.count + this.pointsCredits.count + this.closedPositions.count;
  }

  private readonly userTrades = new RecordBuffer(USER_TRADE);
  private readonly marketTrades = new RecordBuffer(MARKET_TRADE);
  private readonly pointsCredits = new RecordBuffer(POINTS_CREDIT);
  private readonly closedPositions = new RecordBuffer(CLOSED_POSITION);
  private readonly marketRecords = new RecordBuffer(MARKET);

  private userTradeIds: number[] = [];
  private pointsCreditIds: number[] = [];
  private closedPositionIds: number[] = [];
  private openedIds: number[] = [];
  private endedIds: number[] = [];
  private readonly changedMarkets = new Set<MarketHistory>();
  private readonly changedPrices = new Set<MarketHistory>();

  private readonly markets = new Map<number, MarketHistory>();
  /** The active ones. */
  private readonly active = new Set<MarketHistory>();
  /** Asset prices before the last command that crossed a mark. */
  private pricesBefore: number[] = [];
  private nextMarkMs: number;

  /** @param engine stands at the end of the batch that `state` is of. */
  constructor(
    private readonly engine: ProjectedEngine,
    private readonly state: HistoryState,
    /** Told of each user whose standing a command may have changed. */
    private readonly changed: (userId: number) => void,
  ) {
    for (const market of state.markets) {
      this.markets.set(market.marketId, market);
      if (market.status === MarketStatus.ACTIVE) this.active.add(market);
    }
    this.nextMarkMs = markAfter(engine.nowMs);
  }

  /** Before the engine applies a command: makes the price points of the marks up to its time, that one included. */
  applying(atMs: number): void {
    if (atMs < this.nextMarkMs) return;
    const { engine } = this;
    this.pricesBefore = Array.from(
      { length: engine.assetCount },
      (_, asset) => engine.assetPriceMicros(asset) ?? 0,
    );
    for (const market of this.active) {
      const upHalfTicks = upHalfTicksOf(engine.market(market.marketId)!);
      this.addPoints(market, this.nextMarkMs, atMs, upHalfTicks);
    }
    this.nextMarkMs = markAfter(atMs);
  }

  /** After the engine has applied it: makes rows of its events. */
  applied(): void {
    const { values, length } = this.engine.events;
    let hasPrice = false;
    for (let at = 0; at < length; at += EVENT_LENGTHS[values[at]!]!) {
      switch (values[at]) {
        case trade:
          this.addTrade(values, at);
          break;
        case positionSettled:
          this.addClosedPosition(values, at);
          break;
        case pointsCredited:
          this.addPointsCredit(values, at);
          break;
        case priceObserved:
          hasPrice = true;
          break;
        case marketOpened:
          this.openMarket(values[at + 1]!, values[at + 2]!, hasPrice);
          break;
        case startPriceFixed:
          this.change(values[at + 1]!).startPriceMicros = values[at + 2]!;
          break;
        case marketEnded:
          this.endMarket(values[at + 1]!);
          break;
        case marketResolved:
          this.resolveMarket(values, at);
          break;
        case feesShared:
          this.shareFees(values, at);
          break;
        case marketClosed:
          this.change(values[at + 1]!).isClosed = 1;
          this.markets.delete(values[at + 1]!);
          break;
      }
    }
  }

  /** Everything since the last call. To be called at the end of a journal batch. */
  take(): HistoryRows {
    for (const market of this.changedMarkets) market.writeRow(this.marketRecords);
    const prices = Array.from(this.changedPrices, ({ marketId, points, pointsSequence }) => ({
      marketId,
      points: Float64Array.from(points),
      sequence: pointsSequence,
    }));
    this.changedMarkets.clear();
    this.changedPrices.clear();
    const rows: HistoryRows = {
      marketTradeCount: this.marketTrades.count,
      userTrades: this.userTrades.take(),
      marketTrades: this.marketTrades.take(),
      pointsCredits: this.pointsCredits.take(),
      closedPositions: this.closedPositions.take(),
      markets: this.marketRecords.take(),
      prices,
      userTradeIds: this.userTradeIds,
      pointsCreditIds: this.pointsCreditIds,
      closedPositionIds: this.closedPositionIds,
      openedIds: this.openedIds,
      endedIds: this.endedIds,
    };
    this.userTradeIds = [];
    this.pointsCreditIds = [];
    this.closedPositionIds = [];
    this.openedIds = [];
    this.endedIds = [];
    return rows;
  }

  private addTrade(values: Float64Array, at: number): void {
    const market = this.change(values[at + Trade.marketId]!);
    const upTicks = values[at + Trade.upTicks]!;
    const sizeLots = values[at + Trade.sizeLots]!;
    const takerOutcome = values[at + Trade.takerOutcome]!;
    const matchType = values[at + Trade.matchType]!;
    market.addTrade({ matchType, upTicks, sizeLots, takerOutcome });

    const records = this.marketTrades;
    records.begin();
    records.put(market.marketId);
    records.put(market.tradeCount);
    records.put(values[at + Trade.tradeId]!);
    records.put(matchType);
    records.put(upTicks);
    records.put(sizeLots);
    records.put(values[at + Trade.takerSide]!);
    records.put(takerOutcome);
    records.put(this.engine.nowMs);
    records.end(this.engine.sequence);
    this.addSide(values, at, TAKER);
    this.addSide(values, at, MAKER);
  }

  private addSide(values: Float64Array, at: number, role: number): void {
    const isTaker = role === TAKER;
    const userId = values[at + (isTaker ? Trade.takerId : Trade.makerId)]!;
    const outcome = values[at + (isTaker ? Trade.takerOutcome : Trade.makerOutcome)]!;
    const upTicks = values[at + Trade.upTicks]!;
    const records = this.userTrades;
    records.begin();
    records.put(userId);
    records.put(this.state.userTrades.next(userId));
    records.put(values[at + Trade.tradeId]!);
    records.put(values[at + (isTaker ? Trade.takerOrderId : Trade.makerOrderId)]!);
    records.put(values[at + Trade.marketId]!);
    records.put(role);
    records.put(values[at + (isTaker ? Trade.takerSide : Trade.makerSide)]!);
    records.put(outcome);
    records.put(outcome === Outcome.UP ? upTicks : MICROS_PER_SET - upTicks);
    records.put(values[at + Trade.sizeLots]!);
    records.put(isTaker ? values[at + Trade.feeMicros]! : 0);
    records.put(values[at + (isTaker ? Trade.takerProfitMicros : Trade.makerProfitMicros)]!);
    records.put(this.engine.nowMs);
    records.end(this.engine.sequence);
    this.userTradeIds.push(userId);
    this.changed(userId);
  }

  private addClosedPosition(values: Float64Array, at: number): void {
    const userId = values[at + Settled.userId]!;
    const marketId = values[at + Settled.marketId]!;
    const records = this.closedPositions;
    records.begin();
    records.put(userId);
    records.put(this.state.closedPositions.next(userId));
    records.put(marketId);
    records.put(this.known(marketId).resolution);
    for (let field = Settled.upLots; field <= Settled.profitMicros; field++) records.put(values[at + field]!);
    records.put(this.engine.nowMs);
    records.end(this.engine.sequence);
    this.closedPositionIds.push(userId);
    this.changed(userId);
  }

  private addPointsCredit(values: Float64Array, at: number): void {
    const userId = values[at + Credited.userId]!;
    const records = this.pointsCredits;
    records.begin();
    records.put(userId);
    records.put(this.state.pointsCredits.next(userId));
    records.put(values[at + Credited.marketId]!);
    records.put(values[at + Credited.reason]!);
    records.put(values[at + Credited.microPoints]!);
    records.put(this.engine.nowMs);
    records.end(this.engine.sequence);
    this.pointsCreditIds.push(userId);
    this.changed(userId);
  }

  /** What is due happens before the command itself, so a market that opens after a price was opened by it, late. */
  private openMarket(marketId: number, startPriceMicros: number, isLate: boolean): void {
    const market = new MarketHistory(marketId);
    const asset = assetOfMarket(marketId);
    const startsAtMs = startOfMarketMs(marketId);
    market.previousId = this.state.lastMarketIds[asset] ?? 0;
    market.startPriceMicros = startPriceMicros;
    market.openedAtMs = isLate ? this.engine.nowMs : startsAtMs;
    this.state.lastMarketIds[asset] = marketId;
    this.markets.set(marketId, market);
    this.active.add(market);
    this.openedIds.push(marketId);
    this.change(marketId);
    if (isLate)
      this.addPoint(market, market.openedAtMs, EVEN_HALF_TICKS, this.engine.assetPriceMicros(asset) ?? 0);
    else this.addPoints(market, startsAtMs, this.engine.nowMs, EVEN_HALF_TICKS);
  }

  private endMarket(marketId: number): void {
    const market = this.change(marketId);
    market.status = MarketStatus.ENDED;
    this.active.delete(market);
    this.endedIds.push(marketId);
  }

  private resolveMarket(values: Float64Array, at: number): void {
    const market = this.change(values[at + Resolved.marketId]!);
    market.status = MarketStatus.RESOLVED;
    market.resolution = values[at + Resolved.resolution]!;
    market.endPriceMicros = values[at + Resolved.endPriceMicros]!;
    market.resolvedAtMs = this.engine.nowMs;
  }

  private shareFees(values: Float64Array, at: number): void {
    const market = this.change(values[at + Shared.marketId]!);
    market.vaultMicros = values[at + Shared.vaultMicros]!;
    market.referrersMicros = values[at + Shared.referrersMicros]!;
    market.treasuryMicros = values[at + Shared.treasuryMicros]!;
  }

  /** Points at the marks from `fromMs` to `toMs`, as far as the market's window goes, both included. */
  private addPoints(market: MarketHistory, fromMs: number, toMs: number, upHalfTicks: number): void {
    const price = this.pricesBefore[assetOfMarket(market.marketId)] ?? 0;
    const lastMs = Math.min(toMs, market.endsAtMs);
    for (let atMs = fromMs; atMs <= lastMs; atMs += MARK_MS) this.addPoint(market, atMs, upHalfTicks, price);
  }

  private addPoint(market: MarketHistory, atMs: number, upHalfTicks: number, assetPriceMicros: number): void {
    market.addPoint({ atMs, upHalfTicks, assetPriceMicros, sequence: this.engine.sequence });
    this.changedPrices.add(market);
  }

  private known(marketId: number): MarketHistory {
    const market = this.markets.get(marketId);
    if (market === undefined) throw new Error(`the history does not know market ${marketId}`);
    return market;
  }

  private change(marketId: number): MarketHistory {
    const market = this.known(marketId);
    market.sequence = this.engine.sequence;
    this.changedMarkets.add(market);
    return market;
  }
}

function markAfter(atMs: number): number {
  return Math.floor(atMs / MARK_MS) * MARK_MS + MARK_MS;
}

/** UP's price: the middle of the book, else the last trade, else even. */
function upHalfTicksOf({ bestBidTicks, bestAskTicks, lastTradeTicks }: MarketView): number {
  if (bestBidTicks !== null && bestAskTicks !== null) return bestBidTicks + bestAskTicks;
  return lastTradeTicks === null ? EVEN_HALF_TICKS : lastTradeTicks * 2;
}
