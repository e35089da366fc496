/**
 * From the engine's events to the entries and rows of the history: a pure function of the commands.
 * The same journal makes the same entries and rows, however it is cut into transactions. (How
 * entries are cut into runs depends on that.)
 *
 * `applying` is called before the engine applies a command and `applied` after it. At the end of a
 * journal batch, `drain` returns the changes, which are written in one transaction (store.ts).
 */
import { ticksIn } from '../../engine/interface/domain.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../../engine/interface/events.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import {
  CLOSED_POSITION,
  type ListLayout,
  type ListName,
  MARKET_TRADE,
  POINTS_CREDIT,
  USER_TRADE,
} from './format.js';
import { type ListAdditions, ListCounts, PendingLists } from './lists.js';
import { type MarketChanges, Markets, type MarketsEngine, type MarketsState } from './markets.js';

/** What the projection reads of the engine that it follows. */
export interface ProjectedEngine extends MarketsEngine {
  readonly events: NumberBuffer;
}

/** What new entries are numbered from, and the markets that may still change. */
export interface HistoryState extends MarketsState {
  userTrades: ListCounts;
  pointsCredits: ListCounts;
  closedPositions: ListCounts;
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

/** What one transaction writes. */
export interface HistoryChanges extends MarketChanges {
  lists: Record<ListName, ListAdditions>;
}

const { trade, positionSettled, pointsCredited, feesShared } = EventType;
const { priceObserved, marketOpened, startPriceFixed, marketEnded, marketResolved, marketClosed } =
  EventType;

/** The offset of each field from the start of its event. */
const Trade = EventSlot.trade;
const Settled = EventSlot.positionSettled;
const Credited = EventSlot.pointsCredited;

/** The offset of each column from the start of its entry. */
function columnsOf<Layout extends ListLayout>({ columns }: Layout) {
  return Object.fromEntries(columns.map((name, i) => [name, i])) as Record<
    Layout['columns'][number],
    number
  >;
}
const UserTrade = columnsOf(USER_TRADE);
const MarketTrade = columnsOf(MARKET_TRADE);
const Credit = columnsOf(POINTS_CREDIT);
const Closed = columnsOf(CLOSED_POSITION);

const TAKER = 0;
const MAKER = 1;

export class Projection {
  private readonly userTrades = new PendingLists(USER_TRADE);
  private readonly marketTrades = new PendingLists(MARKET_TRADE);
  private readonly pointsCredits = new PendingLists(POINTS_CREDIT);
  private readonly closedPositions = new PendingLists(CLOSED_POSITION);
  private readonly markets: Markets;

  /**
   * @param engine at the end of the batch that `state` is of.
   * @param changed called for each user whose leaderboard values a command may have changed.
   */
  constructor(
    private readonly engine: ProjectedEngine,
    private readonly state: HistoryState,
    private readonly changed: (userId: number) => void,
  ) {
    this.markets = new Markets(engine, state);
  }

  /** Entries of users' lists that the next `drain` returns. */
  get pendingEntries(): number {
    return this.userTrades.count + this.pointsCredits.count + this.closedPositions.count;
  }

  /** Called before the engine applies a command. */
  applying(atMs: number): void {
    this.markets.advance(atMs);
  }

  /** Called after the engine has applied a command: makes entries and rows of its events. */
  applied(): void {
    const { markets } = this;
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
          // What is due comes before the command itself: a market that opens after a price was
          // opened by it, late.
          markets.open(values[at + 1]!, values[at + 2]!, hasPrice);
          break;
        case startPriceFixed:
          markets.change(values[at + 1]!).startPriceMicros = values[at + 2]!;
          break;
        case marketEnded:
          markets.end(values[at + 1]!);
          break;
        case marketResolved:
          markets.resolve(values, at);
          break;
        case feesShared:
          markets.shareFees(values, at);
          break;
        case marketClosed:
          markets.close(values[at + 1]!);
          break;
      }
    }
  }

  /** All changes since the last call; called at the end of a journal batch. */
  drain(): HistoryChanges {
    const lists = {
      userTrade: this.userTrades.drain(),
      marketTrade: this.marketTrades.drain(),
      pointsCredit: this.pointsCredits.drain(),
      closedPosition: this.closedPositions.drain(),
    };
    return { lists, ...this.markets.drain() };
  }

  private addTrade(values: Float64Array, at: number): void {
    const market = this.markets.change(values[at + Trade.marketId]!);
    const upTicks = values[at + Trade.upTicks]!;
    const sizeLots = values[at + Trade.sizeLots]!;
    const takerOutcome = values[at + Trade.takerOutcome]!;
    const matchType = values[at + Trade.matchType]!;
    market.addTrade({ matchType, upTicks, sizeLots, takerOutcome });

    const to = this.marketTrades.add(market.marketId, market.tradeCount);
    const entries = this.marketTrades.values;
    entries[to + MarketTrade.tradeId] = values[at + Trade.tradeId]!;
    entries[to + MarketTrade.matchType] = matchType;
    entries[to + MarketTrade.upTicks] = upTicks;
    entries[to + MarketTrade.sizeLots] = sizeLots;
    entries[to + MarketTrade.takerSide] = values[at + Trade.takerSide]!;
    entries[to + MarketTrade.takerOutcome] = takerOutcome;
    entries[to + MarketTrade.atMs] = this.engine.nowMs;
    entries[to + MarketTrade.sequence] = this.engine.sequence;
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
    entries[to + UserTrade.orderId] =
      values[at + (isTaker ? Trade.takerOrderId : Trade.makerOrderId)]!;
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
    entries[to + Closed.resolution] = this.markets.of(marketId).resolution;
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
}
