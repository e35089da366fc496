/**
 * One asset with its markets, the engine and the house, in simulated time: a price at each step,
 * and traders who act just before or just after it. All choices come from the seed.
 *
 * What a trader gains is counted by the fair value at its order, with the walk's true volatility
 * and all that the trader knows, less the fee. So a market's result, which is chance, adds no
 * noise.
 */
import { pino } from 'pino';
import { Engine } from '../../../engine/engine.js';
import { Code } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import { Outcome } from '../../../engine/interface/domain.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../../../engine/interface/events.js';
import { ResultHead } from '../../../engine/interface/results.js';
import type { MarketView } from '../../../engine/interface/views.js';
import { normalRandom } from '../../../gateway/inputs/feeds/random.js';
import { MarketMaker } from '../../../gateway/inputs/house/market-maker.js';
import { AVERAGED_MS, fairValue } from '../../../persistence/history/market-json/fair-value.js';
import { buy, DOLLAR, registration, sell, WINDOW_START_MS } from '../../support/engine-support.js';
import { Random } from '../../support/workload/random.js';

const HOUSE_FUNDS_MICROS = 1_000_000 * DOLLAR;
const ANNUAL_VOLATILITY = 0.5;
const YEAR_MS = 365.25 * 86_400_000;
const REVIEW_MS = 500;
const SPREAD_EVERY_MS = 1_000;
/** Spreads are told apart by the time left: at most this much. */
export const TIMES_LEFT_MS = [60_000, 300_000, 600_000, 900_000];
const [HOUSE, TRADER] = [1, 2];

/** The prices, and a trader, who may act just before the next price comes and just after. */
export interface Strategy {
  /** How long it is tried, if not as long as others. */
  hours?: number;
  /** Exchange time between prices; default 250 ms. */
  intervalMs?: number;
  /** The price's annual volatility from now to then, as is known now; default 0.5. */
  volatility?(nowMs: number, untilMs: number): number;
  /** The price that the exchange gets in this step; null: none. By default the true one. */
  received?(market: SimulatedMarket): number | null;
  /** Whether the house restarts in this step. */
  restarts?(market: SimulatedMarket): boolean;
  beforePrice?(market: SimulatedMarket): void;
  afterPrice?(market: SimulatedMarket): void;
}

export class SimulatedMarket {
  readonly engine = new Engine();
  readonly random: Random;
  readonly intervalMs: number;
  /** Net of fees. */
  gainMicros = 0;
  feeMicros = 0;
  nowMs = WINDOW_START_MS;
  /** The price at the end of the step. The exchange receives it only then. */
  priceMicros = 95_000 * DOLLAR;
  private maker: MarketMaker;
  /** By TIMES_LEFT_MS: the spreads while both sides are quoted, and how often one is not. */
  readonly spreads = TIMES_LEFT_MS.map(() => ({ ticks: [] as number[], empty: 0 }));
  /** Sum and count of the prices in the market's last minute, each of which has the same weight. */
  private readonly lastMinute = { marketId: 0, sum: 0, count: 0 };
  private readonly normal: () => number;

  constructor(
    seed: string,
    private readonly strategy: Strategy,
  ) {
    this.random = new Random(seed);
    this.normal = normalRandom(new Random(`${seed}:prices`).next);
    this.intervalMs = strategy.intervalMs ?? 250;
    this.must({ kind: 'listAsset', symbol: 'BTC' });
    this.must({ ...registration('house', HOUSE_FUNDS_MICROS / DOLLAR) });
    this.must({ ...registration('trader', 9_000_000) });
    this.must({ kind: 'setAutoClaim', userId: HOUSE, idempotencyKey: null, enabled: true });
    this.maker = this.startedHouse();
  }

  run(hours: number): void {
    const endMs = this.nowMs + hours * 3_600_000;
    while (this.nowMs < endMs) this.step();
    this.engine.checkInvariants();
  }

  /** Market of the asset; null if none is active. */
  get market(): MarketView | null {
    return this.engine.market(this.engine.activeMarket(0));
  }

  /** The probability of UP by what is known at the end of the step. */
  probability({ marketId, startPriceMicros, endsAtMs }: MarketView): number {
    const { sum, count } = this.lastMinuteOf(marketId);
    return fairValue({
      priceMicros: this.priceMicros,
      startPriceMicros: startPriceMicros!,
      remainingMs: Math.max(0, endsAtMs - this.nowMs),
      averageMicros: sum / Math.max(1, count),
      volatility: this.volatility(endsAtMs),
    }).probability;
  }

  /** Takes whatever is worth more than it costs with the fee. */
  takeWhatGains(): void {
    const { market } = this;
    if (market === null) return;
    const up = this.probability(market) * 1_000;
    this.takeBelow(Outcome.UP, up, market.bestAskTicks);
    this.takeBelow(Outcome.DOWN, 1_000 - up, invert(market.bestBidTicks));
  }

  buy(outcome: Outcome, budgetMicros: number, priceTicks = 999): void {
    const { market } = this;
    if (market === null) return;
    const { marketId } = market;
    this.trade(buy({ userId: TRADER, marketId, outcome, budgetMicros, priceTicks }), market);
  }

  sellAll(): boolean {
    const { market } = this;
    const position = market === null ? null : this.engine.position(TRADER, market.marketId);
    if (market === null || position === null) return false;
    const outcome = position.upLots > 0 ? Outcome.UP : Outcome.DOWN;
    const sizeLots = position.upLots > 0 ? position.upLots : position.downLots;
    if (sizeLots === 0) return false;
    const { marketId } = market;
    this.trade(sell({ userId: TRADER, marketId, outcome, sizeLots, priceTicks: 1 }), market);
    return true;
  }

  private startedHouse(): MarketMaker {
    return new MarketMaker({
      engine: this.engine,
      submit: (command) => this.submit(command),
      log: pino({ level: 'silent' }),
      userId: HOUSE,
      fundsMicros: HOUSE_FUNDS_MICROS,
    });
  }

  /** The standard deviation of the price's logarithm over a millisecond, until then. */
  private volatility(untilMs: number): number {
    const annual = this.strategy.volatility?.(this.nowMs, untilMs) ?? ANNUAL_VOLATILITY;
    return annual / Math.sqrt(YEAR_MS);
  }

  private step(): void {
    const { strategy } = this;
    this.nowMs += this.intervalMs;
    const deviation = this.volatility(this.nowMs) * Math.sqrt(this.intervalMs);
    const move = deviation * this.normal() - deviation ** 2 / 2;
    this.priceMicros = Math.round(this.priceMicros * Math.exp(move));
    strategy.beforePrice?.(this);
    if (this.engine.nextDueMs() <= this.nowMs) this.submit({ kind: 'advanceTime' });
    this.noteLastMinute();
    if (strategy.restarts?.(this) === true) this.maker = this.startedHouse();
    const priceMicros =
      strategy.received === undefined ? this.priceMicros : strategy.received(this);
    if (priceMicros !== null) {
      const price = { priceMicros: Math.round(priceMicros), observedAtMs: this.nowMs };
      this.must({ kind: 'observePrice', asset: 0, ...price });
      this.maker.observe(0, price, this.nowMs);
    }
    if (this.nowMs % REVIEW_MS === 0) this.maker.review(0, this.nowMs);
    if (this.nowMs % SPREAD_EVERY_MS === 0) this.noteSpread();
    strategy.afterPrice?.(this);
  }

  private noteSpread(): void {
    const { market } = this;
    if (market === null) return;
    const { bestBidTicks, bestAskTicks, endsAtMs } = market;
    const spread = this.spreads[TIMES_LEFT_MS.findIndex((most) => endsAtMs - this.nowMs <= most)]!;
    if (bestBidTicks === null || bestAskTicks === null) spread.empty++;
    else spread.ticks.push(bestAskTicks - bestBidTicks);
  }

  private lastMinuteOf(marketId: number) {
    if (this.lastMinute.marketId !== marketId)
      Object.assign(this.lastMinute, { marketId, sum: 0, count: 0 });
    return this.lastMinute;
  }

  private noteLastMinute(): void {
    const { market } = this;
    if (market === null || this.nowMs < market.endsAtMs - AVERAGED_MS) return;
    const lastMinute = this.lastMinuteOf(market.marketId);
    lastMinute.sum += this.priceMicros;
    lastMinute.count++;
  }

  private takeBelow(outcome: Outcome, worthTicks: number, bestTicks: number | null): void {
    const limitTicks = Math.ceil(worthTicks / 1.005) - 1;
    if (bestTicks === null || bestTicks > limitTicks) return;
    this.buy(outcome, 1_000 * DOLLAR, Math.min(limitTicks, 999));
  }

  private trade(command: Command, market: MarketView): void {
    const up = this.probability(market) * 1_000;
    this.submit(command);
    const { values, length } = this.engine.events;
    const { takerSide, takerOutcome, upTicks, sizeLots, feeMicros } = EventSlot.trade;
    for (let at = 0; at < length; at += EVENT_LENGTHS[values[at]!]!) {
      if (values[at] !== EventType.trade) continue;
      const isLong = (values[at + takerSide] === 0) === (values[at + takerOutcome] === Outcome.UP);
      const gainTicks = isLong ? up - values[at + upTicks]! : values[at + upTicks]! - up;
      this.gainMicros += gainTicks * values[at + sizeLots]! - values[at + feeMicros]!;
      this.feeMicros += values[at + feeMicros]!;
    }
    this.maker.noteFills();
  }

  private submit(command: Command) {
    this.engine.apply(command, this.nowMs);
    return this.engine.result;
  }

  private must(command: Command): void {
    const code = this.submit(command).values[ResultHead.code]!;
    if (code !== Code.ok) throw new Error(`${command.kind} was refused with code ${code}`);
  }
}

const invert = (upTicks: number | null): number | null =>
  upTicks === null ? null : 1_000 - upTicks;
