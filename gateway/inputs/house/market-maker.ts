/**
 * The house's orders: it quotes both sides of each active market around a fair value, and of each
 * upcoming market around half a dollar. It reads no clock and sets no timer, so a simulation can
 * run days of it.
 *
 * Invariant: all orders are post-only. After a price, no resting order is better for a taker than
 * the new fair value allows; while prices are stale or held back, no order rests. The house quotes
 * to a market's end, so that positions can be sold until then. Exposure and money in a market are
 * limited, and so is the loss in an hour and in a day. All state is the engine's, so the house
 * continues after a crash; only the hour and the day begin again.
 */
import type { Logger } from 'pino';
import type { Engine } from '../../../engine/engine.js';
import { CODES, Code } from '../../../engine/interface/codes.js';
import type { BatchOperation, Command } from '../../../engine/interface/commands.js';
import {
  assetOfMarket,
  MarketStatus,
  Outcome,
  Side,
  TimeInForce,
} from '../../../engine/interface/domain.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../../../engine/interface/events.js';
import {
  MAX_BATCH_OPERATIONS,
  MAX_TIME_MS,
  MICROS_PER_SET,
} from '../../../engine/interface/limits.js';
import { UPCOMING_WINDOWS } from '../../../engine/interface/parameters.js';
import {
  FIRST_OPERATION,
  nextOperation,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../../engine/interface/results.js';
import type { MarketView, OrderView, PositionView } from '../../../engine/interface/views.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { fairChance, rememberedBy } from '../../../persistence/history/market-json/chance.js';
import {
  AVERAGED_MS,
  type FairValue,
} from '../../../persistence/history/market-json/fair-value.js';
import type { VolatilityEstimate } from '../../../persistence/history/market-json/volatility.js';
import { FillLosses, LossLimit } from './losses.js';
import { type ObservedPrice, PriceAges } from './prices.js';
import {
  changesTo,
  type HouseQuote,
  halfSpreadTicks,
  isBidFor,
  needsRequote,
  planQuotes,
  type QuotePlan,
} from './quotes.js';

/** No quotes if the last price is older than both this and twice the usual interval. */
const MAX_PRICE_AGE_MS = 2_000;

/** Fractions of the funds: the most to commit to a market, and the most to lose in it. */
const MARKET_SHARE_OF_FUNDS = 1 / 10;
/** The most to commit to each upcoming market: less, so that the active market gets most. */
const UPCOMING_SHARE_OF_FUNDS = 1 / 50;
const EXPOSURE_SHARE_OF_FUNDS = 1 / 40;
/** The rest of the available balance pays the fee that the engine adds to a buy. */
const SPENDABLE_SHARE = 0.99;

/** Before the start price forms: without drift, the price is as likely to rise as to fall. */
const EVEN: FairValue = { probability: 0.5, perSecond: 0 };

/** Quotes refused so are not logged. */
const EXPECTED = ['market_not_active', 'market_paused', 'user_frozen'];

interface MarketMakerOptions {
  engine: Engine;
  /** null: the sequencer accepts no command now. */
  submit: (command: Command) => NumberBuffer | null;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  userId: number;
  fundsMicros: number;
}

interface AssetState {
  readonly ages: PriceAges;
  readonly losses: FillLosses;
  readonly volatility: VolatilityEstimate;
  short: boolean;
}

export class MarketMaker {
  private readonly engine: Engine;
  private readonly userId: number;
  private readonly fundsMicros: number;
  private readonly assets: AssetState[] = [];
  private readonly limit: LossLimit;

  constructor(private readonly options: MarketMakerOptions) {
    this.engine = options.engine;
    this.userId = options.userId;
    this.fundsMicros = options.fundsMicros;
    this.limit = new LossLimit(options.fundsMicros);
    // The engine forgets prices from before a stop when the first one after it comes.
    for (let asset = 0; asset < this.engine.assetCount; asset++) this.stateOf(asset);
  }

  /** Removes quotes that are too good at that price before it returns. */
  observe(asset: number, price: ObservedPrice, nowMs: number): void {
    const state = this.stateOf(asset);
    const tookMs = nowMs - (state.ages.lastAtMs ?? nowMs);
    state.ages.add(price, nowMs);
    state.volatility.add(price.observedAtMs, price.priceMicros);
    const market = this.engine.market(this.engine.activeMarket(asset));
    if (market !== null) {
      const { probability, perSecond } = this.fairOf(
        market,
        state.volatility.get(market.endsAtMs - nowMs).perMs,
      );
      const deviationTicks = perSecond * Math.sqrt(tookMs / 1_000) * MICROS_PER_SET;
      state.losses.moved(market.marketId, probability * MICROS_PER_SET, deviationTicks, nowMs);
      this.reviewMarket(market, nowMs);
    }
  }

  noteFills(): void {
    const { values, length } = this.engine.events;
    const { makerId, makerSide, makerOutcome, marketId, sizeLots } = EventSlot.trade;
    for (let at = 0; at < length; at += EVENT_LENGTHS[values[at]!]!) {
      if (values[at] !== EventType.trade || values[at + makerId] !== this.userId) continue;
      const isBid = isBidFor(values[at + makerSide] as Side, values[at + makerOutcome] as Outcome);
      const lots = isBid ? values[at + sizeLots]! : -values[at + sizeLots]!;
      const { losses } = this.stateOf(assetOfMarket(values[at + marketId]!));
      losses.filled(values[at + marketId]!, { lots, atMs: this.engine.nowMs });
    }
  }

  review(asset: number, nowMs: number): void {
    const { engine } = this;
    for (const marketId of [engine.activeMarket(asset), ...engine.upcomingMarkets(asset)]) {
      const market = engine.market(marketId);
      if (market !== null) this.reviewMarket(market, nowMs);
    }
  }

  private reviewMarket(market: MarketView, nowMs: number): void {
    const state = this.stateOf(market.asset);
    const { marketId } = market;
    const resting = this.engine.orders(this.userId).filter((order) => order.marketId === marketId);
    if (!this.isQuotable(market, state, nowMs)) {
      if (resting.length > 0) this.cancelAll(marketId);
      return;
    }
    const { quotes, short } = this.wanted(market, state, resting, nowMs);
    if (market.status === MarketStatus.ACTIVE) this.noteShortage(state, market, short);
    if (needsRequote(quotes, resting)) this.requote(marketId, quotes, resting);
  }

  withdraw(): void {
    const marketIds = new Set(this.engine.orders(this.userId).map((order) => order.marketId));
    for (const marketId of marketIds) this.cancelAll(marketId);
  }

  private stateOf(asset: number): AssetState {
    this.assets[asset] ??= {
      ages: new PriceAges(),
      losses: new FillLosses(),
      volatility: rememberedBy(this.engine, asset),
      short: false,
    };
    return this.assets[asset];
  }

  private isQuotable(market: MarketView, { ages }: AssetState, nowMs: number): boolean {
    // Do not quote while the start price is being averaged, from a minute before the start: the
    // prices already seen change the chance.
    const isFair = market.startPriceMicros !== null || market.startsAtMs - nowMs > AVERAGED_MS;
    return (
      isFair &&
      market.endsAtMs > nowMs &&
      ages.lastAtMs !== null &&
      nowMs - ages.lastAtMs <= Math.max(MAX_PRICE_AGE_MS, 2 * ages.horizonMs) &&
      this.engine.heldPrice(market.asset) === null &&
      this.isWithinLimit(nowMs)
    );
  }

  private isWithinLimit(nowMs: number): boolean {
    const { realizedProfitMicros } = this.engine.account(this.userId)!;
    const { isReached, isNew } = this.limit.check(realizedProfitMicros, nowMs);
    if (isNew && isReached)
      this.options.log.error(
        { realizedProfitMicros },
        'the house has reached its loss limit, and does not quote until the next hour or day',
      );
    else if (isNew) this.options.log.warn({}, 'the house quotes again after its losses');
    return !isReached;
  }

  private fairOf(market: MarketView, perMs: number): FairValue {
    return fairChance(this.engine, market, perMs) ?? EVEN;
  }

  private wanted(
    market: MarketView,
    state: AssetState,
    resting: readonly OrderView[],
    nowMs: number,
  ): QuotePlan {
    const { marketId } = market;
    const { ages } = state;
    const { perMs, error, lagMs } = state.volatility.get(market.endsAtMs - nowMs);
    const { probability, perSecond } = this.fairOf(market, perMs);
    const other = this.fairOf(market, perMs * Math.exp(error));
    const seconds = (Math.max(ages.horizonMs, nowMs - ages.lastAtMs!) + lagMs) / 1_000;
    const moved = Math.max(perSecond, other.perSecond) * Math.sqrt(seconds);
    const deviationTicks = Math.hypot(moved, other.probability - probability) * MICROS_PER_SET;
    const isActive = market.status === MarketStatus.ACTIVE;
    const halves = halfSpreadTicks(deviationTicks, state.losses.extraDeviations(nowMs));
    const position = this.engine.position(this.userId, marketId);
    const { maxOrderMicros, maxOpenOrders, minRestingMicros } = this.engine.rules();
    return planQuotes({
      fairTicks: probability * MICROS_PER_SET,
      halfSpreadTicks: halves,
      upLots: position?.upLots ?? 0,
      downLots: position?.downLots ?? 0,
      runLots: isActive ? state.losses.heldLots : 0,
      maxExposureLots: Math.floor((this.fundsMicros * EXPOSURE_SHARE_OF_FUNDS) / MICROS_PER_SET),
      spendableMicros: this.spendableMicros(position, resting, isActive),
      maxOrderMicros,
      maxOrders: Math.floor(maxOpenOrders / this.engine.assetCount / (1 + UPCOMING_WINDOWS)),
      minRestingMicros,
      othersBidTicks: this.othersBest(marketId, Side.SELL),
      othersAskTicks: this.othersBest(marketId, Side.BUY),
    });
  }

  /** For all buys in a market: its limit, less the cost of held shares, within the balance. */
  private spendableMicros(
    position: PositionView | null,
    resting: readonly OrderView[],
    isActive: boolean,
  ): number {
    const share = isActive ? MARKET_SHARE_OF_FUNDS : UPCOMING_SHARE_OF_FUNDS;
    const committed = position === null ? 0 : position.upCostMicros + position.downCostMicros;
    const buys = resting.filter((order) => order.side === Side.BUY);
    const held = buys.reduce((sum, order) => sum + order.priceTicks * order.sizeLots, 0);
    const available = this.engine.account(this.userId)!.availableMicros + held;
    const cap = this.fundsMicros * share - committed;
    return Math.floor(Math.max(0, Math.min(cap, available * SPENDABLE_SHARE)));
  }

  /** The best UP price at which others sell to the house (BUY) or buy from it (SELL). */
  private othersBest(marketId: number, side: Side): number | null {
    const priceTicks = side === Side.BUY ? MICROS_PER_SET - 1 : 1;
    const quote = this.engine.quote({
      marketId,
      side,
      outcome: Outcome.UP,
      budgetMicros: priceTicks,
      sizeLots: 1,
      priceTicks,
      userId: this.userId,
    });
    return quote?.worstTicks ?? null;
  }

  private noteShortage(state: AssetState, market: MarketView, short: boolean): void {
    if (short === state.short) return;
    state.short = short;
    const symbol = this.engine.assetSymbol(market.asset);
    const { availableMicros } = this.engine.account(this.userId)!;
    const { maxOrderMicros, maxOpenOrders } = this.engine.rules();
    const bounds = { symbol, availableMicros, maxOrderMicros, maxOpenOrders };
    if (short)
      this.options.log.warn(
        bounds,
        'house: quotes are reduced by its money, or by the rules in force',
      );
    else this.options.log.info(bounds, 'house: quotes have their full size again');
  }

  /** One command, so that no order meets a half-replaced set of quotes. */
  private requote(
    marketId: number,
    quotes: readonly HouseQuote[],
    resting: readonly OrderView[],
  ): void {
    const { cancel, place } = changesTo(quotes, resting);
    const operations: BatchOperation[] = [
      ...cancel.map((order) => this.cancelOf(order)),
      ...place.map((quote) => this.orderOf(marketId, quote)),
    ];
    // The house never has this many orders. If it does, the next review starts from none.
    if (operations.length > MAX_BATCH_OPERATIONS) this.cancelAll(marketId);
    else if (operations.length > 0) this.submitBatch(operations);
  }

  private cancelOf(order: OrderView): BatchOperation {
    const { marketId, orderId } = order;
    return { kind: 'cancel', userId: this.userId, idempotencyKey: null, marketId, orderId };
  }

  private orderOf(marketId: number, quote: HouseQuote): BatchOperation {
    const { outcome, priceTicks, sizeLots } = quote;
    const order = {
      userId: this.userId,
      idempotencyKey: null,
      marketId,
      outcome,
      sizeLots,
      priceTicks,
      timeInForce: TimeInForce.GTC,
      postOnly: true,
      validUntilMs: MAX_TIME_MS,
    };
    if (quote.side === Side.SELL) return { kind: 'sell', ...order };
    return { kind: 'buy', ...order, budgetMicros: sizeLots * priceTicks };
  }

  private submitBatch(operations: BatchOperation[]): void {
    const result = this.options.submit({
      kind: 'batch',
      userId: this.userId,
      idempotencyKey: null,
      operations,
      atomic: false,
    });
    if (result === null) return;
    // The command's time may have ended the market. Any other refusal is a bug in the plan.
    const refused = refusals(result).filter((code) => !EXPECTED.includes(code));
    if (refused.length > 0) this.options.log.warn({ refused }, 'house: quotes were refused');
  }

  private cancelAll(marketId: number): void {
    this.options.submit({ kind: 'cancelAll', userId: this.userId, idempotencyKey: null, marketId });
  }
}

/** Codes of a batch's refused operations, or the batch's own code. */
function refusals({ values }: NumberBuffer): string[] {
  const batchCode = values[ResultHead.code]!;
  if (batchCode !== Code.ok) return [CODES[batchCode]!];
  const codes: string[] = [];
  const count = values[RESULT_HEAD_LENGTH]!;
  let at = FIRST_OPERATION;
  for (let i = 0; i < count; i++, at = nextOperation(values, at)) {
    const code = values[at + ResultHead.code]!;
    if (code !== Code.ok) codes.push(CODES[code]!);
  }
  return codes;
}
