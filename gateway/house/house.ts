/**
 * The house: an ordinary account, without privileges, that quotes both sides of every active market
 * around a fair value, so that orders usually find liquidity.
 *
 * Always holds: all its orders are post-only, and it has none in a market's last seconds or while
 * prices are stale. Its loss in a market is limited by a cap on its exposure and on its money
 * there. Its orders and positions are read from the engine, so it continues after a crash as after
 * a pause. It submits commands only in its own turns of the event loop, so callers can rely on the
 * engine's result buffer.
 */
import type { Logger } from 'pino';
import type { Engine } from '../../engine/engine.js';
import { CODES, Code } from '../../engine/interface/codes.js';
import type { BatchOperation, Command } from '../../engine/interface/commands.js';
import {
  MarketStatus,
  Outcome,
  Resolution,
  Side,
  TimeInForce,
} from '../../engine/interface/domain.js';
import {
  MAX_BATCH_OPERATIONS,
  MAX_TIME_MS,
  MICROS_PER_SET,
} from '../../engine/interface/limits.js';
import {
  FIRST_OPERATION,
  nextOperation,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../engine/interface/results.js';
import type { MarketView, OrderView, PositionView } from '../../engine/interface/views.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { SubmitRefused } from '../../persistence/sequencer.js';
import type { Submitter } from '../observe/watched-sequencer.js';
import type { Clock } from '../time/clock.js';
import { AVERAGED_MS, fairValue } from './fair-value.js';
import { RecentPrices } from './prices.js';
import {
  changesTo,
  halfSpreadTicks,
  needsRequote,
  planQuotes,
  type Quote,
  type QuotePlan,
} from './quotes.js';

/** Refusals of quotes that need no warning. */
const EXPECTED = ['market_not_active', 'market_paused', 'user_frozen'];
export const HOUSE_USERNAME = 'house';

interface HouseOptions {
  sequencer: Submitter;
  clock: Clock;
  log: Logger;
  /** The starting balance of the account, and the base of its limits. */
  fundsMicros: number;
}

/** The house has no quotes in a market for this much exchange time before its end. */
const PULL_BEFORE_END_MS = 20_000;
/** The house has no quotes if the last price is older. */
const MAX_PRICE_AGE_MS = 120_000;
/** Minimum exchange time between changes of a market's quotes, and between reviews of them. */
const REQUOTE_MS = 1_000;
const LOOK_MS = 100;
/** Exchange time between reviews without a price, and the minimum real time between them. */
const REVIEW_MS = 1_000;
const REVIEW_REAL_MS = 25;

/** Fractions of its funds: the most to commit to a market, and the most to lose in one. */
const MARKET_SHARE_OF_FUNDS = 1 / 10;
const EXPOSURE_SHARE_OF_FUNDS = 1 / 40;
/** Fraction of the available balance. The rest covers the fee that the engine adds to a buy. */
const SPENDABLE_SHARE = 0.99;

interface AssetState {
  readonly prices: RecentPrices;
  /** The last market reviewed, and until when it needs no further review. */
  marketId: number;
  restsUntilMs: number;
  short: boolean;
}

export class House {
  private readonly sequencer: Submitter;
  private readonly engine: Engine;
  private readonly clock: Clock;
  private readonly log: Logger;
  private readonly fundsMicros: number;
  private readonly assets: AssetState[] = [];
  private readonly awake = new Set<number>();
  private userId = 0;
  private immediate: NodeJS.Immediate | null = null;
  private timer: NodeJS.Timeout | null = null;
  private running = false;

  constructor(options: HouseOptions) {
    this.sequencer = options.sequencer;
    this.engine = options.sequencer.engine;
    this.clock = options.clock;
    this.log = options.log;
    this.fundsMicros = options.fundsMicros;
  }

  /**
   * Registers the account if it does not exist, and cancels orders left by a crash.
   * @throws if the name belongs to a user who can sign in, or if the account cannot be created
   */
  start(): void {
    const isTaken = this.engine.findUser(HOUSE_USERNAME) !== 0;
    this.userId = isTaken ? houseUserId(this.engine) : this.register();
    if (this.userId === 0)
      throw new Error(`the name "${HOUSE_USERNAME}" belongs to a user who can sign in`);
    cancelHouseOrders(this.sequencer);
    this.running = true;
    this.arm();
  }

  /** Records a price that the engine accepted, and reviews the asset's quotes soon after. */
  observe(asset: number, priceMicros: number, observedAtMs: number): void {
    this.stateOf(asset).prices.add(priceMicros, observedAtMs);
    this.wake(asset);
  }

  /** Reviews the asset's quotes after the current events: a market opened, a quote was filled. */
  wake(asset: number): void {
    if (!this.running) return;
    this.awake.add(asset);
    this.immediate ??= setImmediate(() => {
      this.immediate = null;
      const assets = [...this.awake];
      this.awake.clear();
      for (const each of assets) this.review(each);
    });
  }

  /** Cancels all quotes if the sequencer still accepts commands, and submits nothing afterwards. */
  stop(): void {
    if (!this.running) return;
    this.running = false;
    if (this.immediate !== null) clearImmediate(this.immediate);
    if (this.timer !== null) clearTimeout(this.timer);
    const marketIds = new Set(this.engine.orders(this.userId).map((order) => order.marketId));
    for (const marketId of marketIds) this.cancelAll(marketId);
  }

  private register(): number {
    this.sequencer.submit({
      kind: 'register',
      username: HOUSE_USERNAME,
      credential: '',
      referralCode: '',
      grantMicros: this.fundsMicros,
      partner: null,
    });
    const code = CODES[this.engine.result.values[ResultHead.code]!];
    if (code !== 'ok') throw new Error(`the house's account cannot be created: ${code}`);
    return this.engine.findUser(HOUSE_USERNAME);
  }

  private stateOf(asset: number): AssetState {
    this.assets[asset] ??= {
      prices: new RecentPrices(),
      marketId: 0,
      restsUntilMs: 0,
      short: false,
    };
    return this.assets[asset];
  }

  private nowMs(): number {
    return Math.max(this.engine.nowMs, this.clock.nowMs());
  }

  /** For what no price triggers: filled quotes, quotes to withdraw, winnings to claim. */
  private arm(): void {
    const nowMs = this.nowMs();
    let delayMs = Math.max(REVIEW_REAL_MS, this.clock.delayUntilMs(nowMs + REVIEW_MS));
    for (let asset = 0; asset < this.engine.assetCount; asset++) {
      const market = this.engine.market(this.engine.activeMarket(asset));
      const pullAtMs = market === null ? 0 : market.endsAtMs - PULL_BEFORE_END_MS;
      if (pullAtMs > nowMs) delayMs = Math.min(delayMs, this.clock.delayUntilMs(pullAtMs));
    }
    this.timer = setTimeout(() => {
      for (let asset = 0; asset < this.engine.assetCount; asset++) this.review(asset);
      this.claimWinnings();
      this.arm();
    }, delayMs);
  }

  private review(asset: number): void {
    const market = this.engine.market(this.engine.activeMarket(asset));
    if (market === null) return;
    const state = this.stateOf(asset);
    const nowMs = this.nowMs();
    const price = state.prices.last;
    const isQuotable =
      market.endsAtMs - nowMs > PULL_BEFORE_END_MS &&
      price !== null &&
      nowMs - price.observedAtMs <= MAX_PRICE_AGE_MS;
    if (isQuotable && state.marketId === market.marketId && nowMs < state.restsUntilMs) return;
    const { marketId } = market;
    const resting = this.engine.orders(this.userId).filter((order) => order.marketId === marketId);
    if (!isQuotable) {
      state.restsUntilMs = 0;
      if (resting.length > 0) this.cancelAll(marketId);
      return;
    }
    const seen = { resting, priceMicros: price.priceMicros, nowMs };
    const { plan, half } = this.plan(market, state, seen);
    this.noteShortage(state, market, plan.short);
    const isDue = needsRequote(plan.quotes, resting, half);
    state.marketId = marketId;
    state.restsUntilMs = nowMs + (isDue ? REQUOTE_MS : LOOK_MS);
    if (isDue) this.requote(marketId, plan.quotes, resting);
  }

  private plan(
    market: MarketView,
    state: AssetState,
    seen: { resting: readonly OrderView[]; priceMicros: number; nowMs: number },
  ): { plan: QuotePlan; half: number } {
    const { marketId, startPriceMicros, endsAtMs } = market;
    const { priceMicros, nowMs } = seen;
    const value = fairValue({
      priceMicros,
      startPriceMicros,
      remainingMs: endsAtMs - nowMs,
      averageMicros: state.prices.averageMicros(endsAtMs - AVERAGED_MS, nowMs) ?? priceMicros,
      volatility: state.prices.volatility,
    });
    const half = halfSpreadTicks(value.perSecond);
    const position = this.engine.position(this.userId, marketId);
    const { maxOrderMicros, maxOpenOrders } = this.engine.rules();
    const plan = planQuotes({
      fairTicks: value.probability * MICROS_PER_SET,
      halfSpreadTicks: half,
      upLots: position?.upLots ?? 0,
      downLots: position?.downLots ?? 0,
      maxExposureLots: Math.floor((this.fundsMicros * EXPOSURE_SHARE_OF_FUNDS) / MICROS_PER_SET),
      spendableMicros: this.spendableMicros(position, seen.resting),
      maxOrderMicros,
      maxOrders: Math.floor(maxOpenOrders / this.engine.assetCount),
      othersBidTicks: this.othersBest(marketId, Side.SELL),
      othersAskTicks: this.othersBest(marketId, Side.BUY),
    });
    return { plan, half };
  }

  /** Money for all buys in a market: its limit less the cost of shares held, within the balance. */
  private spendableMicros(position: PositionView | null, resting: readonly OrderView[]): number {
    const committed = position === null ? 0 : position.upCostMicros + position.downCostMicros;
    const buys = resting.filter((order) => order.side === Side.BUY);
    const held = buys.reduce((sum, order) => sum + order.priceTicks * order.sizeLots, 0);
    const available = this.engine.account(this.userId)!.availableMicros + held;
    const cap = this.fundsMicros * MARKET_SHARE_OF_FUNDS - committed;
    return Math.floor(Math.max(0, Math.min(cap, available * SPENDABLE_SHARE)));
  }

  /** The best price of UP at which others would sell to (BUY) or buy from (SELL) the house. */
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
      this.log.warn(bounds, 'house: quotes are reduced by its money, or by the rules in force');
    else this.log.info(bounds, 'house: quotes have their full size again');
  }

  /** One command, so that no order meets a half-replaced set of quotes. */
  private requote(marketId: number, quotes: readonly Quote[], resting: readonly OrderView[]): void {
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

  private orderOf(marketId: number, quote: Quote): BatchOperation {
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
    const result = this.submit({
      kind: 'batch',
      userId: this.userId,
      idempotencyKey: null,
      operations,
      atomic: false,
    });
    if (result === null) return;
    // The market may have ended with this command. Any other refusal is a bug in the plan.
    const refused = refusals(result).filter((code) => !EXPECTED.includes(code));
    if (refused.length > 0) this.log.warn({ refused }, 'house: quotes were refused');
  }

  private cancelAll(marketId: number): void {
    this.submit({ kind: 'cancelAll', userId: this.userId, idempotencyKey: null, marketId });
  }

  private claimWinnings(): void {
    for (const position of this.engine.positions(this.userId)) {
      const market = this.engine.market(position.marketId);
      if (market?.status !== MarketStatus.RESOLVED || !paysOut(market, position)) continue;
      const { marketId } = market;
      this.submit({ kind: 'claim', userId: this.userId, idempotencyKey: null, marketId });
    }
  }

  /** null: the sequencer accepts no command now. The next review tries again. */
  private submit(command: Command): NumberBuffer | null {
    try {
      return this.sequencer.submit(command);
    } catch (error) {
      if (!(error instanceof SubmitRefused)) throw error;
      this.log.warn({ reason: error.message }, 'house: a command was refused');
      return null;
    }
  }
}

/**
 * Cancels orders that the house left in an earlier run, because their prices are outdated. For
 * every start, even without a house.
 * @throws SubmitRefused if the sequencer accepts no command
 */
export function cancelHouseOrders(sequencer: Submitter): void {
  const userId = houseUserId(sequencer.engine);
  const marketIds = new Set(sequencer.engine.orders(userId).map((order) => order.marketId));
  for (const marketId of marketIds)
    sequencer.submit({ kind: 'cancelAll', userId, idempotencyKey: null, marketId });
}

/** 0: none, or the name belongs to a user who can sign in. */
function houseUserId(engine: Engine): number {
  const userId = engine.findUser(HOUSE_USERNAME);
  return engine.credential(userId) === '' ? userId : 0;
}

function paysOut(market: MarketView, position: PositionView): boolean {
  switch (market.resolution) {
    case Resolution.UP:
      return position.upLots > 0;
    case Resolution.DOWN:
      return position.downLots > 0;
    case Resolution.VOID:
      return true;
    case Resolution.NONE:
      return false;
  }
}

/** The codes of a batch's refused operations, or of the refused batch. */
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
