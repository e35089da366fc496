/**
 * The slow twin of the history. It applies commands one by one, keeps every entry and every state
 * with a price in plain lists, and computes the expected history. It also has the commands that
 * the history and follower tests share: a small market day, then rare cases (no prices, VOID, a
 * late opening, payouts after a day).
 */

import { Engine } from '../../engine/engine.js';
import type { Command } from '../../engine/interface/commands.js';
import {
  assetOfMarket,
  marketIdOf,
  startOfMarketMs,
  WINDOW_MS,
} from '../../engine/interface/domain.js';
import { decodeEvents, type EventRecord } from '../../engine/interface/events.js';
import { changesOf } from '../../persistence/history/account/changes.js';
import type { Candle, PriceRange } from '../../persistence/history/candles.js';
import { type MarketRecord, USER_PAYMENTS } from '../../persistence/history/runs/format.js';
import { planWorkload, STANDARD, type TimedCommand } from './workload/workload.js';

export type { TimedCommand } from './workload/workload.js';

const MINUTE_MS = 60_000;
const MARK_MS = 5_000;

/** Equal seeds give equal commands. */
export function dayOfCommands(seed = 'history', commands = 7_000): TimedCommand[] {
  const options = {
    ...STANDARD,
    seed,
    commands,
    users: 40,
    assets: 2,
    windows: 2,
    restingTarget: 60,
  };
  const { setup, commands: list } = planWorkload(options);
  const all: TimedCommand[] = [...setup];
  for (let i = 0; i < list.length; i++) all.push({ command: list.read(i), atMs: list.atMs(i) });
  return [...all, ...oddEnd(all.at(-1)!.atMs)];
}

/**
 * Two windows without prices, then a window with a price in its middle, a day of silence, prices
 * again, and two markets, one of which an operator declares VOID.
 */
function oddEnd(afterMs: number): TimedCommand[] {
  const tail: TimedCommand[] = [];
  let atMs = afterMs;
  const later = (ms: number, ...commands: Command[]) => {
    atMs += ms;
    for (const command of commands) tail.push({ command, atMs });
  };
  const price = (asset: number): Command => ({
    kind: 'observePrice',
    asset,
    priceMicros: 90_000_000_000 + asset,
    observedAtMs: atMs,
  });
  const time: Command = { kind: 'advanceTime' };
  for (let i = 0; i < 40; i++) later(MINUTE_MS, time);
  later(1_234, price(0));
  later(0, price(1), time);
  later(MINUTE_MS, price(0), price(1), time);
  later(WINDOW_MS, time);
  for (let i = 0; i < 30; i++) later(60 * MINUTE_MS, time, time);
  const left = WINDOW_MS - (atMs % WINDOW_MS);
  later(left - 5_000, price(0));
  later(9_000, price(0), time);
  later(MINUTE_MS, price(1), time);
  // The market with the larger id ends first.
  const startsAtMs = atMs - (atMs % WINDOW_MS);
  const marketId = marketIdOf(1, startsAtMs);
  later(MINUTE_MS, { kind: 'voidMarket', marketId, operator: 'olga', reason: 'no prices' }, time);
  for (let i = 0; i < 20; i++) later(MINUTE_MS, price(0), time);
  return tail;
}

/** An entry of a list, without its ordinal. */
type Entry = Record<string, number>;

export interface ExpectedHistory {
  /** Entries by user id or market id, oldest first; fields are named as the history's columns. */
  userTrades: Map<number, Entry[]>;
  pointsCredits: Map<number, Entry[]>;
  marketTrades: Map<number, Entry[]>;
  /** Every market that was ever opened, oldest first, then by asset. */
  markets: MarketRecord[];
  points: Map<number, number[]>;
  /** Prices by asset, oldest first, each with its time of arrival. */
  prices: Map<number, Entry[]>;
  engine: Engine;
}

/** Every candle of a market, or of an asset, newest first. */
export function expectedCandles(
  { engine, marketTrades, prices }: ExpectedHistory,
  { asset, marketId }: { asset: number; marketId: number | null },
  intervalMs: number,
): Candle[] {
  const ids = [...marketTrades.keys()].filter((id) =>
    marketId === null ? assetOfMarket(id) === asset : id === marketId,
  );
  const trades = ids.flatMap((id) => marketTrades.get(id)!);
  trades.sort((a, b) => a['tradeId']! - b['tradeId']!);
  const observed = prices.get(asset) ?? [];
  const startMs = marketId === null ? observed[0]!['atMs']! : startOfMarketMs(marketId);
  const firstMs = marketId === null ? startMs : Math.min(startMs, trades[0]?.['atMs'] ?? startMs);
  const endMs = marketId === null ? engine.nowMs : Math.min(startMs + WINDOW_MS - 1, engine.nowMs);
  const intervalOf = ({ atMs }: Entry) => Math.floor(atMs! / intervalMs);
  const [tradesIn, pricesIn] = [new Map<number, Entry[]>(), new Map<number, Entry[]>()];
  for (const trade of trades) add(tradesIn, intervalOf(trade), trade);
  for (const price of observed) add(pricesIn, intervalOf(price), price);
  const candles: Candle[] = [];
  for (let at = Math.floor(endMs / intervalMs); at * intervalMs > firstMs - intervalMs; at--) {
    const traded = tradesIn.get(at) ?? [];
    const ups = traded.map(({ upTicks }) => upTicks!);
    candles.push({
      atMs: at * intervalMs,
      up: marketId === null ? null : rangeOf(ups),
      assetPrice: rangeOf((pricesIn.get(at) ?? []).map(({ priceMicros }) => priceMicros!)),
      volumeMicros: valueMicrosOf(traded),
      trades: traded.length,
    });
  }
  return candles;
}

function valueMicrosOf(trades: readonly Entry[]): number {
  return trades.reduce((sum, { sizeLots, upTicks, takerOutcome }) => {
    return sum + sizeLots! * (takerOutcome === 0 ? upTicks! : 1_000 - upTicks!);
  }, 0);
}

function rangeOf(values: number[]): PriceRange | null {
  if (values.length === 0) return null;
  const [open, close] = [values[0]!, values.at(-1)!];
  return { open, high: Math.max(...values), low: Math.min(...values), close };
}

/** What the API shows of a market from the history, computed in the simplest way. */
export function shownMarket(market: MarketRecord, points: readonly number[]): object {
  const priceHistory: object[] = [];
  for (let i = 0; i < points.length; i += 3) {
    const [atMs, up, micros] = points.slice(i, i + 3) as [number, number, number];
    const assetPrice = micros === 0 ? null : micros / 1e6;
    const shown =
      up === 0 ? { UP: null, DOWN: null } : { UP: up / 2_000, DOWN: (2_000 - up) / 2_000 };
    priceHistory.push({ atMs, ...shown, assetPrice });
  }
  return {
    startsAtMs: startOfMarketMs(market.marketId),
    endsAtMs: startOfMarketMs(market.marketId) + WINDOW_MS,
    status: ['active', 'ended', 'resolved', 'upcoming'][market.status],
    resolution: [null, 'UP', 'DOWN', 'VOID'][market.resolution],
    startPrice: market.startPriceMicros === 0 ? null : market.startPriceMicros / 1e6,
    endPrice: market.endPriceMicros === 0 ? null : market.endPriceMicros / 1e6,
    volume: market.volumeMicros / 1e6,
    priceHistory,
  };
}

interface Shown {
  atMs: number;
  upHalfTicks: Map<number, number>;
  assetPrices: number[];
}

export function expectedHistory(commands: readonly TimedCommand[]): ExpectedHistory {
  const oracle = new Oracle();
  for (const { command, atMs } of commands) oracle.apply(command, atMs);
  return oracle.finish();
}

class Oracle {
  private readonly engine = new Engine();
  private readonly shown: Shown[] = [];
  private readonly userTrades = new Map<number, Entry[]>();
  private readonly pointsCredits = new Map<number, Entry[]>();
  private readonly marketTrades = new Map<number, Entry[]>();
  private readonly prices = new Map<number, Entry[]>();
  private readonly numbers = new Map<number, number>();
  private readonly markets = new Map<number, MarketRecord>();
  private readonly lateAtMs = new Map<number, { atMs: number; up: number; price: number }>();
  private readonly openedAtMs = new Map<number, number>();
  private readonly endedAtMs = new Map<number, number>();

  apply(command: Command, atMs: number): void {
    const { engine } = this;
    engine.apply(command, atMs);
    const events = decodeEvents(engine.events);
    events.forEach((event, i) => {
      this.note(event, events.slice(0, i));
    });
    const ids = engine.marketIds().filter((id) => [0, 3].includes(engine.market(id)!.status));
    const upHalfTicks = new Map(ids.map((id) => [id, upHalfTicksOf(engine, id)]));
    const assetPrices = Array.from(
      { length: engine.assetCount },
      (_, i) => engine.assetPriceMicros(i) ?? 0,
    );
    this.shown.push({ atMs, upHalfTicks, assetPrices });
  }

  finish(): ExpectedHistory {
    const markets = [...this.markets.values()].sort((a, b) => a.marketId - b.marketId);
    const points = new Map(markets.map((market) => [market.marketId, this.pointsOf(market)]));
    const { userTrades, pointsCredits, marketTrades, prices, engine } = this;
    for (const market of markets) {
      market.pointCount = points.get(market.marketId)!.length / 3;
      const trades = marketTrades.get(market.marketId) ?? [];
      const startOf = ({ atMs }: Entry) => Math.floor(atMs! / MARK_MS) * MARK_MS;
      const starts = [...new Set(trades.map(startOf))];
      const last = trades.filter((trade) => startOf(trade) === starts.at(-1));
      const range = rangeOf(last.map(({ upTicks }) => upTicks!));
      market.candleCount = Math.max(0, starts.length - 1);
      if (range === null) continue;
      const sums = { valueMicros: valueMicrosOf(last), trades: last.length };
      market.candle = { atMs: starts.at(-1)!, ...range, ...sums };
    }
    const lists = { userTrades, pointsCredits, marketTrades, prices };
    return { ...lists, markets, points, engine };
  }

  private note(event: EventRecord, before: EventRecord[]): void {
    const stamp = { atMs: this.engine.nowMs, sequence: this.engine.sequence };
    const users: Readonly<Record<string, string>> = USER_PAYMENTS;
    const user = users[event.type];
    if (user !== undefined) this.nextNumber((event as unknown as Entry)[user]!);
    const isOfOrder = ['orderPlaced', 'orderCancelled', 'orderAmended'].includes(event.type);
    if (isOfOrder) for (const { userId } of changesOf(event)) this.nextNumber(userId);
    switch (event.type) {
      case 'trade': {
        const { tradeId, marketId, sizeLots, upTicks, matchType, takerSide, takerOutcome } = event;
        add(this.marketTrades, marketId, {
          marketId,
          tradeId,
          matchType,
          upTicks,
          sizeLots,
          takerSide,
          takerOutcome,
          ...stamp,
        });
        const common = { tradeId, marketId, sizeLots, ...stamp };
        const { takerId, takerOrderId, feeMicros, takerProfitMicros } = event;
        const { makerId, makerOrderId, makerSide, makerOutcome, makerProfitMicros } = event;
        const ticks = (outcome: number) => (outcome === 0 ? upTicks : 1_000 - upTicks);
        add(this.userTrades, takerId, {
          ...common,
          number: this.nextNumber(takerId),
          userId: takerId,
          orderId: takerOrderId,
          role: 0,
          side: takerSide,
          outcome: takerOutcome,
          priceTicks: ticks(takerOutcome),
          feeMicros,
          profitMicros: takerProfitMicros,
        });
        add(this.userTrades, makerId, {
          ...common,
          number: this.nextNumber(makerId),
          userId: makerId,
          orderId: makerOrderId,
          role: 1,
          side: makerSide,
          outcome: makerOutcome,
          priceTicks: ticks(makerOutcome),
          feeMicros: 0,
          profitMicros: makerProfitMicros,
        });
        const market = this.markets.get(marketId)!;
        const mints = [0, 1, -1][matchType]!;
        market.tradeCount += 1;
        market.volumeMicros += sizeLots * ticks(takerOutcome);
        market.openInterestLots += mints * sizeLots;
        this.change(marketId, { lastTradeTicks: upTicks });
        break;
      }
      case 'setsSplit':
      case 'setsMerged': {
        const lots = event.type === 'setsSplit' ? event.sizeLots : 0 - event.sizeLots;
        const { openInterestLots } = this.markets.get(event.marketId)!;
        this.change(event.marketId, { openInterestLots: openInterestLots + lots });
        break;
      }
      case 'positionSettled':
        this.nextNumber(event.userId);
        break;
      case 'pointsCredited': {
        const { type: _, ...fields } = event;
        add(this.pointsCredits, event.userId, { ...fields, ...stamp });
        break;
      }
      case 'priceObserved':
        add(this.prices, event.asset, { priceMicros: event.priceMicros, ...stamp });
        break;
      case 'marketListed':
        this.addMarket(event.marketId);
        break;
      case 'marketOpened': {
        const { marketId, startPriceMicros } = event;
        const isLate = before.some(({ type }) => type === 'priceObserved');
        const openedAtMs = isLate ? stamp.atMs : startOfMarketMs(marketId);
        const asset = assetOfMarket(marketId);
        if (isLate)
          this.lateAtMs.set(marketId, {
            atMs: openedAtMs,
            up: upHalfTicksOf(this.engine, marketId),
            price: this.engine.assetPriceMicros(asset)!,
          });
        if (!this.markets.has(marketId)) this.addMarket(marketId);
        this.openedAtMs.set(marketId, openedAtMs);
        this.change(marketId, { status: 0, startPriceMicros });
        break;
      }
      case 'orderPlaced':
        if (event.restingLots > 0) this.countBook(event.marketId);
        break;
      case 'orderCancelled':
        this.countBook(event.marketId);
        break;
      case 'startPriceFixed':
        this.change(event.marketId, { startPriceMicros: event.startPriceMicros });
        break;
      case 'marketEnded':
        this.endedAtMs.set(event.marketId, stamp.atMs);
        this.change(event.marketId, { status: 1 });
        break;
      case 'marketResolved': {
        const { marketId, resolution, endPriceMicros } = event;
        this.change(marketId, { status: 2, resolution, endPriceMicros, resolvedAtMs: stamp.atMs });
        break;
      }
      case 'marketClosed':
        this.change(event.marketId, { isClosed: 1 });
        break;
    }
  }

  /** Numbers the entries of a user's account. */
  private nextNumber(userId: number): number {
    const number = (this.numbers.get(userId) ?? 0) + 1;
    this.numbers.set(userId, number);
    return number;
  }

  private addMarket(marketId: number): void {
    this.markets.set(marketId, {
      marketId,
      status: 3,
      resolution: 0,
      startPriceMicros: 0,
      endPriceMicros: 0,
      resolvedAtMs: 0,
      volumeMicros: 0,
      openInterestLots: 0,
      lastTradeTicks: 0,
      tradeCount: 0,
      bookCount: 0,
      pointCount: 0,
      candleCount: 0,
      candle: null,
      isClosed: 0,
      sequence: this.engine.sequence,
    });
  }

  private countBook(marketId: number): void {
    this.change(marketId, { bookCount: this.markets.get(marketId)!.bookCount + 1 });
  }

  private change(marketId: number, fields: Partial<MarketRecord>): void {
    Object.assign(this.markets.get(marketId)!, fields, { sequence: this.engine.sequence });
  }

  /** The last state before each mark. */
  private pointsOf({ marketId }: MarketRecord): number[] {
    const points: number[] = [];
    const late = this.lateAtMs.get(marketId);
    const openedAtMs = this.openedAtMs.get(marketId);
    if (openedAtMs === undefined) return points;
    if (late !== undefined) points.push(late.atMs, late.up, late.price);
    const endsAtMs = startOfMarketMs(marketId) + WINDOW_MS;
    const lastMs = Math.min(endsAtMs, this.endedAtMs.get(marketId) ?? this.engine.nowMs);
    const firstMs =
      late === undefined ? openedAtMs : Math.floor(openedAtMs / MARK_MS) * MARK_MS + MARK_MS;
    for (let atMs = firstMs; atMs <= lastMs; atMs += MARK_MS) {
      const shown = this.shown.findLast((state) => state.atMs < atMs)!;
      points.push(
        atMs,
        shown.upHalfTicks.get(marketId) ?? 0,
        shown.assetPrices[assetOfMarket(marketId)]!,
      );
    }
    return points;
  }
}

function upHalfTicksOf(engine: Engine, marketId: number): number {
  const { bestBidTicks: bid, bestAskTicks: ask, lastTradeTicks } = engine.market(marketId)!;
  if (bid !== null && ask !== null && ask <= bid + 100) return bid + ask;
  return (lastTradeTicks ?? 0) * 2;
}

function add(lists: Map<number, Entry[]>, key: number, row: Entry): void {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  list.push({ ...row, ordinal: list.length + 1 });
}
