/**
 * Converts the engine's events to entries and rows of the history. The result depends only on the
 * commands: the same journal makes the same entries and rows, whatever its division into
 * transactions. (The division of entries into runs depends on the transactions.)
 *
 * `applying` is called before the engine applies a command and `applied` after it. At the end of a
 * journal batch, `drain` returns the changes, which are written in one transaction (store.ts).
 *
 * Invariant: whatever fails here is thrown as a {@link HistoryFault}, which is about the history
 * and never about the journal. The projection must not be used afterwards.
 */
import type { Engine } from '../../engine/engine.js';
import { Outcome, Side, ticksIn } from '../../engine/interface/domain.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../../engine/interface/events.js';
import { type IncrementalTask, runToEnd } from '../../engine/storage/incremental-task.js';
import { AccountEntries, type AccountsEngine } from './account/entries.js';
import { OrderEnds, type OrdersEngine } from './account/order-ends.js';
import { HistoryFault } from './fault.js';
import { ListCounts, type ListLengths, lengthsOf, PendingLists } from './lists.js';
import { type MarketChanges, Markets, type MarketsEngine } from './markets.js';
import {
  ASSET_PRICE,
  type CountedName,
  columnsOf,
  MARKET_BOOK,
  MARKET_TRADE,
  type MarketRecord,
  POINTS_CREDIT,
} from './runs/format.js';
import { PendingResults, type ResultsRow } from './runs/keyed-results.js';
import { Pieces, type RunPiece } from './runs/writer.js';

export type ProjectedEngine = MarketsEngine &
  AccountsEngine &
  OrdersEngine &
  Pick<Engine, 'remembered' | 'result' | 'oldestKeySequence'>;

/** The state from which new entries are numbered, and the markets that may still change. */
export interface HistoryState {
  /** The markets that the engine still has. */
  markets: MarketRecord[];
  lengths: ListLengths;
  /** The number of entries in orderEnd. */
  orderEnds: number;
}

export function emptyHistoryState(): HistoryState {
  const lengths = lengthsOf(() => new ListCounts());
  return { lengths, orderEnds: 0, markets: [] };
}

/** The contents of one transaction. */
export interface HistoryChanges extends MarketChanges {
  /** The runs of all lists, the number of their entries by kind, and new markets. */
  pieces: RunPiece[];
  added: Record<CountedName, number>;
  keyedResults: ResultsRow[];
  /** The first command whose result can still be asked for. */
  keyedFrom: number;
}

const { trade, orderPlaced, orderCancelled, orderAmended, pointsCredited } = EventType;
const { priceObserved, marketListed, marketOpened, startPriceFixed, marketEnded, marketResolved } =
  EventType;
const { marketClosed, privacyChanged, setsSplit, setsMerged } = EventType;

/** The offset of each field from the start of its event. */
const Placed = EventSlot.orderPlaced;
const Cancelled = EventSlot.orderCancelled;
const Amended = EventSlot.orderAmended;
/** The offsets of setsSplit; setsMerged has the same fields at the same offsets. */
const Sets = EventSlot.setsSplit;

const Book = columnsOf(MARKET_BOOK);

export class Projection {
  private readonly marketTrades = new PendingLists(MARKET_TRADE, 'trade');
  private readonly marketBooks = new PendingLists(MARKET_BOOK);
  private readonly assetPrices = new PendingLists(ASSET_PRICE, 'priceObserved');
  private readonly pointsCredits = new PendingLists(POINTS_CREDIT, 'pointsCredited');
  private readonly accounts: AccountEntries;
  private readonly orderEnds: OrderEnds;
  private readonly markets: Markets;
  private readonly results = new PendingResults();
  private readonly lists: readonly PendingLists[];
  private readonly pieces = new Pieces();

  /**
   * @param engine the engine at the end of the batch that `state` belongs to
   * @param changed called for each user whose leaderboard values a command may have changed
   */
  constructor(
    private readonly engine: ProjectedEngine,
    private readonly state: HistoryState,
    private readonly changed: (userId: number) => void,
  ) {
    this.accounts = new AccountEntries(engine, state.lengths, changed);
    this.orderEnds = new OrderEnds(engine, state);
    this.markets = new Markets(engine, state.markets);
    const { marketTrades, marketBooks, assetPrices, pointsCredits } = this;
    const { points, candles } = this.markets;
    this.lists = [
      ...[...this.accounts.lists, this.orderEnds.ends, assetPrices, pointsCredits],
      ...[marketTrades, marketBooks, points, candles],
    ];
  }

  /** The number of entries that the next `drain` returns. */
  get pendingEntries(): number {
    let { count } = this.results;
    for (const list of this.lists) count += list.count;
    return count;
  }

  /** A market that the engine still has, for reading until the next command. */
  openMarket(marketId: number): MarketRecord | null {
    return this.markets.live(marketId);
  }

  /** Called before the engine applies a command. */
  applying(atMs: number): void {
    try {
      this.markets.advance(atMs);
    } catch (error) {
      throw new HistoryFault(this.engine.sequence + 1, error);
    }
  }

  /** Called after the engine has applied a command: makes entries and rows of its events. */
  applied(): void {
    try {
      this.readEvents();
      const { engine } = this;
      if (engine.remembered) this.results.add(engine.sequence, engine.result);
      this.accounts.end();
    } catch (error) {
      throw new HistoryFault(this.engine.sequence, error);
    }
  }

  /** All changes since the last call; called at the end of a journal batch. */
  drain(): HistoryChanges {
    return runToEnd(this.drainInPieces());
  }

  /** {@link drain} in pieces. No command may be applied in between. */
  *drainInPieces(): IncrementalTask<HistoryChanges> {
    try {
      const added = {} as HistoryChanges['added'];
      for (const list of this.lists)
        added[list.layout.name as CountedName] = yield* list.drainInPieces(this.pieces);
      const markets = this.markets.drain();
      added.market = markets.addedIds.length;
      const keyedResults = this.results.drain();
      const keyedFrom = this.engine.oldestKeySequence || this.engine.sequence + 1;
      return { pieces: this.pieces.drain(), added, keyedResults, keyedFrom, ...markets };
    } catch (error) {
      throw new HistoryFault(this.engine.sequence, error);
    }
  }

  private readEvents(): void {
    const { markets, accounts, orderEnds } = this;
    const { values, length } = this.engine.events;
    let hasPrice = false;
    for (let at = 0; at < length; at += EVENT_LENGTHS[values[at]!]!) {
      accounts.add(values, at);
      switch (values[at]) {
        case trade:
          this.addMarketTrade(values, at);
          orderEnds.trade(values, at);
          break;
        case orderPlaced:
          this.addBook(values, at, Placed.priceTicks, values[at + Placed.restingLots]!);
          orderEnds.placed(values, at);
          break;
        case orderCancelled:
          this.addBook(values, at, Cancelled.priceTicks, 0 - values[at + Cancelled.sizeLots]!);
          orderEnds.cancelled(values, at);
          break;
        case orderAmended:
          this.addAmendment(values, at);
          orderEnds.amendment(values, at);
          break;
        case setsSplit:
          this.addSets(values, at, values[at + Sets.sizeLots]!);
          break;
        case setsMerged:
          this.addSets(values, at, 0 - values[at + Sets.sizeLots]!);
          break;
        case privacyChanged:
          this.changed(values[at + EventSlot.privacyChanged.userId]!);
          break;
        case pointsCredited:
          this.addPointsCredit(values, at);
          break;
        case priceObserved:
          hasPrice = true;
          this.addPrice(values, at);
          break;
        case marketListed:
          markets.list(values[at + 1]!);
          break;
        case marketOpened:
          // Due work comes before the command itself, so a market that opens after a price was
          // opened by that price, late.
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
        case marketClosed:
          markets.close(values[at + 1]!);
          break;
      }
    }
  }

  private addMarketTrade(values: Float64Array, at: number): void {
    const { marketId, tradeCount } = this.markets.addTrade(values, at);
    this.marketTrades.addEvent(marketId, tradeCount, values, at, this.engine);
  }

  /** Counts a split, or a merge if `lots` is below 0, which is part of the user's profit. */
  private addSets(values: Float64Array, at: number, lots: number): void {
    this.markets.change(values[at + Sets.marketId]!).openInterestLots += lots;
    this.changed(values[at + Sets.userId]!);
  }

  /**
   * Lots leave the book at the order's old place. If the order is placed again, orderPlaced
   * follows.
   */
  private addAmendment(values: Float64Array, at: number): void {
    const isKept = values[at + Amended.keptPriority] === 1;
    const leftLots = isKept ? values[at + Amended.sizeLots]! : 0;
    const changeLots = leftLots - values[at + Amended.oldSizeLots]!;
    this.addBook(values, at, Amended.oldPriceTicks, changeLots);
  }

  /**
   * Lots enter the book, or leave it without a trade. `ticks`: the offset of the price in the
   * event; the fields before it are the same in all events of orders.
   */
  private addBook(values: Float64Array, at: number, ticks: number, changeLots: number): void {
    if (changeLots === 0) return;
    const market = this.markets.change(values[at + Placed.marketId]!);
    const outcome = values[at + Placed.outcome]!;
    const isBid = (values[at + Placed.side] === Side.BUY) === (outcome === Outcome.UP);
    const ordinal = ++market.bookCount;
    const to = this.marketBooks.addEvent(market.marketId, ordinal, values, at, this.engine);
    const entries = this.marketBooks.values;
    entries[to + Book.bookSide] = isBid ? 0 : 1;
    entries[to + Book.upTicks] = ticksIn(outcome, values[at + ticks]!);
    entries[to + Book.changeLots] = changeLots;
  }

  private addPrice(values: Float64Array, at: number): void {
    const asset = values[at + EventSlot.priceObserved.asset]!;
    const ordinal = this.state.lengths.assetPrice.next(asset);
    this.assetPrices.addEvent(asset, ordinal, values, at, this.engine);
  }

  private addPointsCredit(values: Float64Array, at: number): void {
    const userId = values[at + EventSlot.pointsCredited.userId]!;
    const ordinal = this.state.lengths.pointsCredit.next(userId);
    this.pointsCredits.addEvent(userId, ordinal, values, at, this.engine);
    this.changed(userId);
  }
}
