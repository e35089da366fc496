/**
 * From the engine's events to entries and rows of history. A pure function of the commands: the same journal makes the same
 * entries and rows, whenever it is read and however it is cut into transactions. (How entries are cut into runs does depend on those.)
 *
 * For each command, `applying` is called before the engine applies it and `applied` after. What has come together is
 * taken out at the end of a journal batch with `take`, and written in one transaction (history-store.ts).
 */
import { assetOfMarket, MarketStatus, startOfMarketMs, ticksIn } from '../../engine/interface/domain.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../../engine/interface/events.js';
import type { MarketView } from '../../engine/interface/views.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { ListCounts } from './counts.js';
import {
  CLOSED_POSITION,
  type ListLayout,
  type ListName,
  MARKET_TRADE,
  POINTS_CREDIT,
  USER_TRADE,
} from './format.js';
import { type ListAdditions, PendingLists } from './lists.js';
import { MARK_MS, MarketHistory } from './market-prices.js';
import { EVEN_HALF_TICKS, upHalfTicks } from './market-text.js';
import { RecordBuffer } from './records.js';

/** What the projection reads of the engine that it follows. */
export interface ProjectedEngine {
  readonly sequence: number;
  readonly nowMs: number;
  readonly events: NumberBuffer;
  readonly assetCount: number;
  assetPriceMicros(asset: number): number | null;
  market(marketId: number): MarketView | null;
}

/** Where the history stands: what the next entries are numbered from. */
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
export interface HistoryChanges {
  lists: Record<ListName, ListAdditions>;
  /** Records of the markets that changed, whole. */
  markets: Buffer;
  prices: PricesRow[];
  /** Markets that opened, and that ended. */
  openedIds: number[];
  endedIds: number[];
}

const { trade, positionSettled, pointsCredited, feesShared } = EventType;
const { priceObserved, marketOpened, startPriceFixed, marketEnded, marketResolved, marketClosed } = EventType;

/** Where the fields of an event stand, counted from the event's start. */
const Trade = EventSlot.trade;
const Settled = EventSlot.positionSettled;
const Credited = EventSlot.pointsCredited;
const Shared = EventSlot.feesShared;
const Resolved = EventSlot.marketResolved;

/** Where a column of an entry stands, counted from the entry's start. */
function columnsOf<Layout extends ListLayout>({ columns }: Layout) {
  return Object.fromEntries(columns.map((name, i) => [name, i])) as Record<Layout['columns'][number], number>;
}
const UserTrade = columnsOf(USER_TRADE);
const TapeTrade = columnsOf(MARKET_TRADE);
const Credit = columnsOf(POINTS_CREDIT);
const Closed = columnsOf(CLOSED_POSITION);

const TAKER = 0;
const MAKER = 1;

export class Projection {
  /** Entries of users that wait to be taken. */
  get pendingEntries(): number {
    return this.userTrades.count + this.pointsCredits.count + this.closedPositions.count;
  }

  private readonly userTrades = new PendingLists(USER_TRADE);
  private readonly marketTrades = new PendingLists(MARKET_TRADE);
  private readonly pointsCredits = new PendingLists(POINTS_CREDIT);
  private readonly closedPositions = new PendingLists(CLOSED_POSITION);
  private readonly marketRecords = new RecordBuffer();

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
      this.addPoints(market, this.nextMarkMs, atMs, upHalfTicks(engine.market(market.marketId)!));
    }
    this.nextMarkMs = markAfter(atMs);
  }

  /** After the engine has applied it: makes entries and rows of its events. */
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
  take(): HistoryChanges {
    for (const market of this.changedMarkets) market.writeRow(this.marketRecords);
    const prices = Array.from(this.changedPrices, ({ marketId, points, pointsSequence }) => ({
      marketId,
      points: Float64Array.from(points),
      sequence: pointsSequence,
    }));
    const { openedIds, endedIds } = this;
    this.changedMarkets.clear();
    this.changedPrices.clear();
    this.openedIds = [];
    this.endedIds = [];
    const lists = {
      userTrade: this.userTrades.take(),
      marketTrade: this.marketTrades.take(),
      pointsCredit: this.pointsCredits.take(),
      closedPosition: this.closedPositions.take(),
    };
    return { lists, markets: this.marketRecords.take(), prices, openedIds, endedIds };
  }

  private addTrade(values: Float64Array, at: number): void {
    const market = this.change(values[at + Trade.marketId]!);
    const upTicks = values[at + Trade.upTicks]!;
    const sizeLots = values[at + Trade.sizeLots]!;
    const takerOutcome = values[at + Trade.takerOutcome]!;
    const matchType = values[at + Trade.matchType]!;
    market.addTrade({ matchType, upTicks, sizeLots, takerOutcome });

    const to = this.marketTrades.add(market.marketId, market.tradeCount);
    const entries = this.marketTrades.values;
    entries[to + TapeTrade.tradeId] = values[at + Trade.tradeId]!;
    entries[to + TapeTrade.matchType] = matchType;
    entries[to + TapeTrade.upTicks] = upTicks;
    entries[to + TapeTrade.sizeLots] = sizeLots;
    entries[to + TapeTrade.takerSide] = values[at + Trade.takerSide]!;
    entries[to + TapeTrade.takerOutcome] = takerOutcome;
    entries[to + TapeTrade.atMs] = this.engine.nowMs;
    entries[to + TapeTrade.sequence] = this.engine.sequence;
    this.addSide(values, at, TAKER);
    this.addSide(values, at, MAKER);
  }

  private addSide(values: Float64Array, at: number, role: number): void {
    const isTaker = role === TAKER;
    const userId = values[at + (isTaker ? Trade.takerId : Trade.makerId)]!;
    const outcome = values[at + (isTaker ? Trade.takerOutcome : Trade.makerOutcome)]!;
    const upTicks = values[at + Trade.upTicks]!;
    const to = this.userTrades.add(userId, this.state.userTrades.next(userId));
    const entries = this.userTrades.values;
    entries[to + UserTrade.tradeId] = values[at + Trade.tradeId]!;
    entries[to + UserTrade.orderId] = values[at + (isTaker ? Trade.takerOrderId : Trade.makerOrderId)]!;
    entries[to + UserTrade.marketId] = values[at + Trade.marketId]!;
    entries[to + UserTrade.role] = role;
    entries[to + UserTrade.side] = values[at + (isTaker ? Trade.takerSide : Trade.makerSide)]!;
    entries[to + UserTrade.outcome] = outcome;
    entries[to + UserTrade.priceTicks] = ticksIn(outcome, upTicks);
    entries[to + UserTrade.sizeLots] = values[at + Trade.sizeLots]!;
    entries[to + UserTrade.feeMicros] = isTaker ? values[at + Trade.feeMicros]! : 0;
    entries[to + UserTrade.profitMicros] =
      values[at + (isTaker ? Trade.takerProfitMicros : Trade.makerProfitMicros)]!;
    entries[to + UserTrade.atMs] = this.engine.nowMs;
    entries[to + UserTrade.sequence] = this.engine.sequence;
    this.changed(userId);
  }

  private addClosedPosition(values: Float64Array, at: number): void {
    const userId = values[at + Settled.userId]!;
    const marketId = values[at + Settled.marketId]!;
    const to = this.closedPositions.add(userId, this.state.closedPositions.next(userId));
    const entries = this.closedPositions.values;
    entries[to + Closed.marketId] = marketId;
    entries[to + Closed.resolution] = this.known(marketId).resolution;
    entries[to + Closed.upLots] = values[at + Settled.upLots]!;
    entries[to + Closed.downLots] = values[at + Settled.downLots]!;
    entries[to + Closed.upCostMicros] = values[at + Settled.upCostMicros]!;
    entries[to + Closed.downCostMicros] = values[at + Settled.downCostMicros]!;
    entries[to + Closed.feesMicros] = values[at + Settled.feesMicros]!;
    entries[to + Closed.payoutMicros] = values[at + Settled.payoutMicros]!;
    entries[to + Closed.refundMicros] = values[at + Settled.refundMicros]!;
    entries[to + Closed.profitMicros] = values[at + Settled.profitMicros]!;
    entries[to + Closed.atMs] = this.engine.nowMs;
    entries[to + Closed.sequence] = this.engine.sequence;
    this.changed(userId);
  }

  private addPointsCredit(values: Float64Array, at: number): void {
    const userId = values[at + Credited.userId]!;
    const to = this.pointsCredits.add(userId, this.state.pointsCredits.next(userId));
    const entries = this.pointsCredits.values;
    entries[to + Credit.marketId] = values[at + Credited.marketId]!;
    entries[to + Credit.reason] = values[at + Credited.reason]!;
    entries[to + Credit.microPoints] = values[at + Credited.microPoints]!;
    entries[to + Credit.atMs] = this.engine.nowMs;
    entries[to + Credit.sequence] = this.engine.sequence;
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
  private addPoints(market: MarketHistory, fromMs: number, toMs: number, halfTicks: number): void {
    const price = this.pricesBefore[assetOfMarket(market.marketId)] ?? 0;
    const lastMs = Math.min(toMs, market.endsAtMs);
    for (let atMs = fromMs; atMs <= lastMs; atMs += MARK_MS) this.addPoint(market, atMs, halfTicks, price);
  }

  private addPoint(market: MarketHistory, atMs: number, halfTicks: number, assetPriceMicros: number): void {
    market.addPoint({ atMs, upHalfTicks: halfTicks, assetPriceMicros, sequence: this.engine.sequence });
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
