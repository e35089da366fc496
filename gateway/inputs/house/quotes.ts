/**
 * The house's quotes for one market: which orders should rest, and how to get there. Pure
 * functions.
 *
 * Invariants of a plan: no bid is above the fair value and no ask below it, except at the lowest
 * and the highest price. Filling one side does not exceed the exposure's cap. Sells are covered by
 * the house's shares; buys cost at most what it may spend. A quote below the minimum value of a
 * resting order is enlarged to it.
 *
 * A bid (for UP) sells DOWN while the house has DOWN, otherwise it buys UP; an ask mirrors this. So
 * shares traded back free their money.
 */
import { Outcome, Side, ticksIn } from '../../../engine/interface/domain.js';
import {
  MAX_PRICE_TICKS,
  MICROS_PER_SET,
  MIN_PRICE_TICKS,
} from '../../../engine/interface/limits.js';
import type { OrderView } from '../../../engine/interface/views.js';

/** Sized in the taker's money, so that cheap shares are not scarce. */
interface QuoteLevel {
  /** From the layer's best price. */
  offsetTicks: number;
  takerMicros: number;
}

/** Its distance from the fair value grows with what a taker may know. */
interface Layer {
  leastTicks: number;
  /** Standard deviations from the fair value to the first level. */
  deviations: number;
  levels: readonly QuoteLevel[];
}

/** A small layer near the fair value, for customers, and a deep one behind it. */
const LAYERS: readonly Layer[] = [
  { leastTicks: 10, deviations: 1.55, levels: [{ offsetTicks: 0, takerMicros: 50_000_000 }] },
  {
    leastTicks: 15,
    deviations: 4,
    levels: [
      { offsetTicks: 0, takerMicros: 100_000_000 },
      { offsetTicks: 6, takerMicros: 150_000_000 },
      { offsetTicks: 15, takerMicros: 200_000_000 },
      { offsetTicks: 30, takerMicros: 250_000_000 },
      { offsetTicks: 50, takerMicros: 300_000_000 },
    ],
  },
];
const MAX_HALF_SPREAD_TICKS = 450;
const DEVIATIONS_PER_EXTRA = 2;

/** Sizes use the price rounded up to this step, so that a one-tick move does not change them. */
const SIZED_BY_TICKS = 25;

/** Exposure that moves the quotes of its side away from the fair value by a tick, and the most. */
const LOTS_PER_SKEW_TICK = 50_000;
const MAX_SKEW_TICKS = 300;
/** Customers rarely move the exposure by more in half a minute; further lots count as many. */
const USUAL_RUN_LOTS = 500_000;
const RUN_WEIGHT = 6;

/**
 * `deviationTicks`: the standard deviation between the fair value and a taker's knowledge.
 * `extraDeviations`: how well informed takers have been lately.
 */
export function halfSpreadTicks(deviationTicks: number, extraDeviations: number): number[] {
  return LAYERS.map(({ leastTicks, deviations }) => {
    const margin = deviationTicks * (deviations + DEVIATIONS_PER_EXTRA * extraDeviations);
    return Math.min(Math.max(leastTicks, margin), MAX_HALF_SPREAD_TICKS);
  });
}

export interface QuoteInput {
  /** Fair value of UP, 0 to 1000. */
  fairTicks: number;
  /** By layer. */
  halfSpreadTicks: readonly number[];
  upLots: number;
  downLots: number;
  runLots: number;
  /** Between UP lots and DOWN lots, in either direction. */
  maxExposureLots: number;
  /** All buys together. */
  spendableMicros: number;
  /** The rules' limits: money of one buy, and resting orders of this market. */
  maxOrderMicros: number;
  maxOrders: number;
  minRestingMicros: number;
  /** Other users' best bid and ask for UP; null: none. The house never takes. */
  othersBidTicks: number | null;
  othersAskTicks: number | null;
}

/** Always GTC and post-only. */
export interface HouseQuote {
  side: Side;
  outcome: Outcome;
  /** In the order's own outcome. */
  priceTicks: number;
  sizeLots: number;
  /** A resting order within this distance of `priceTicks` stays. */
  toleranceTicks: number;
}

export interface QuotePlan {
  quotes: HouseQuote[];
  /** Whether money or the rules do not allow quotes of full size. */
  short: boolean;
}

export function planQuotes(input: QuoteInput): QuotePlan {
  const { fairTicks, halfSpreadTicks: halves, upLots, downLots, maxExposureLots } = input;
  const exposureLots = upLots - downLots;
  // An ask for UP at p is a bid for DOWN at 1000 - p, so one function plans both sides.
  const least = input.minRestingMicros;
  const limits = { halves, maxExposureLots, leastMicros: least };
  const bids = sideLevels({
    ...limits,
    fairTicks,
    mostTicks: (input.othersAskTicks ?? MICROS_PER_SET) - 1,
    exposureLots,
    runLots: input.runLots,
  });
  const asks = sideLevels({
    ...limits,
    fairTicks: MICROS_PER_SET - fairTicks,
    mostTicks: MICROS_PER_SET - (input.othersBidTicks ?? 0) - 1,
    exposureLots: -exposureLots,
    runLots: -input.runLots,
  });
  const sides = [sideQuotes(bids, Outcome.UP, downLots), sideQuotes(asks, Outcome.DOWN, upLots)];
  const perSide = Math.floor(input.maxOrders / 2);
  const wanted = sides.flatMap((quotes) => quotes.slice(0, perSide));
  const allowed = wanted.map((quote) => withinOrder(quote, input.maxOrderMicros));
  const plan = fitToMoney(allowed, input.spendableMicros);
  const quotes = plan.quotes.filter(({ sizeLots, priceTicks }) => sizeLots * priceTicks >= least);
  const isReduced = sizeOf(sides.flat()) > sizeOf(allowed);
  return { quotes, short: plan.short || isReduced };
}

function withinOrder(quote: HouseQuote, maxMicros: number): HouseQuote {
  if (quote.side === Side.SELL) return quote;
  return { ...quote, sizeLots: Math.min(quote.sizeLots, Math.floor(maxMicros / quote.priceTicks)) };
}

function sizeOf(orders: readonly Pick<HouseQuote, 'sizeLots'>[]): number {
  return orders.reduce((sum, { sizeLots }) => sum + sizeLots, 0);
}

type Level = Pick<HouseQuote, 'priceTicks' | 'sizeLots' | 'toleranceTicks'>;

/** In ticks of the outcome that the side buys. */
interface SideInput {
  fairTicks: number;
  halves: readonly number[];
  /** A bid above would trade. */
  mostTicks: number;
  exposureLots: number;
  runLots: number;
  maxExposureLots: number;
  leastMicros: number;
}

/** Best bid first. Without a better level, there is one at the lowest price, which risks little. */
function sideLevels(input: SideInput): Level[] {
  const runLots = Math.max(0, input.runLots - USUAL_RUN_LOTS) * RUN_WEIGHT;
  const skewLots = Math.max(0, input.exposureLots) + runLots;
  const skewTicks = Math.min(skewLots / LOTS_PER_SKEW_TICK, MAX_SKEW_TICKS);
  const levels: Level[] = [];
  for (const [i, layer] of LAYERS.entries()) {
    const half = input.halves[i]!;
    const planned = Math.floor(input.fairTicks - half - skewTicks);
    const bestTicks = Math.min(planned, input.mostTicks, MAX_PRICE_TICKS);
    for (const { offsetTicks, takerMicros } of layer.levels) {
      const isLowest = bestTicks - offsetTicks < MIN_PRICE_TICKS;
      if (isLowest && (levels.length > 0 || input.mostTicks < MIN_PRICE_TICKS)) break;
      const priceTicks = isLowest ? MIN_PRICE_TICKS : bestTicks - offsetTicks;
      const takerTicks = Math.ceil((MICROS_PER_SET - priceTicks) / SIZED_BY_TICKS) * SIZED_BY_TICKS;
      const leastLots = Math.ceil(input.leastMicros / priceTicks);
      const sizeLots = Math.max(Math.floor(takerMicros / takerTicks), leastLots);
      const toleranceTicks = isLowest ? 0 : Math.floor(Math.max(offsetTicks / 3, half / 4));
      levels.push({ priceTicks, sizeLots, toleranceTicks });
    }
  }
  const capacityLots = Math.max(0, input.maxExposureLots - input.exposureLots);
  const totalLots = levels.reduce((sum, level) => sum + level.sizeLots, 0);
  const scale = Math.min(1, capacityLots / Math.max(totalLots, 1));
  return levels.map((level) => ({ ...level, sizeLots: Math.floor(level.sizeLots * scale) }));
}

/** Bids for an outcome: sells of the other outcome while the house has shares, then buys. */
function sideQuotes(levels: readonly Level[], outcome: Outcome, otherLots: number): HouseQuote[] {
  const quotes: HouseQuote[] = [];
  const other = outcome === Outcome.UP ? Outcome.DOWN : Outcome.UP;
  let leftLots = otherLots;
  for (const { priceTicks, sizeLots, toleranceTicks } of levels) {
    const soldLots = Math.min(sizeLots, leftLots);
    leftLots -= soldLots;
    const otherTicks = MICROS_PER_SET - priceTicks;
    const sell = { side: Side.SELL, outcome: other, priceTicks: otherTicks, sizeLots: soldLots };
    const buy = { side: Side.BUY, outcome, priceTicks, sizeLots: sizeLots - soldLots };
    quotes.push({ ...sell, toleranceTicks }, { ...buy, toleranceTicks });
  }
  return positive(quotes);
}

function fitToMoney(wanted: readonly HouseQuote[], spendableMicros: number): QuotePlan {
  const cost = wanted.reduce((sum, quote) => sum + costMicros(quote), 0);
  if (cost <= spendableMicros) return { quotes: positive(wanted), short: false };
  const scale = Math.max(0, spendableMicros) / cost;
  // An order above the planned price would cost more than is available, hence no tolerance.
  const scaled = wanted.map((quote) =>
    quote.side === Side.SELL
      ? quote
      : { ...quote, sizeLots: Math.floor(quote.sizeLots * scale), toleranceTicks: 0 },
  );
  return { quotes: positive(scaled), short: true };
}

function positive(quotes: readonly HouseQuote[]): HouseQuote[] {
  return quotes.filter(({ sizeLots }) => sizeLots > 0);
}

function costMicros(quote: HouseQuote): number {
  return quote.side === Side.BUY ? quote.priceTicks * quote.sizeLots : 0;
}

type Resting = Pick<OrderView, 'side' | 'outcome' | 'priceTicks' | 'sizeLots'>;

/** A best price is off by more than is tolerated, or a side's size by more than 30%. */
export function needsRequote(plan: readonly HouseQuote[], resting: readonly Resting[]): boolean {
  return [true, false].some((bids) => {
    const want = plan.filter((quote) => isBid(quote) === bids);
    const have = resting.filter((order) => isBid(order) === bids);
    const offTicks = Math.abs(bestTicks(want, bids) - bestTicks(have, bids));
    const [wantLots, haveLots] = [sizeOf(want), sizeOf(have)];
    return (
      offTicks > Math.max(1, want[0]?.toleranceTicks ?? 0) ||
      haveLots < wantLots * 0.7 ||
      haveLots > wantLots * 1.3
    );
  });
}

/** The best price in ticks of UP; 0 if there is no order. */
function bestTicks(orders: readonly Resting[], bids: boolean): number {
  const upTicks = orders.map((order) => ticksIn(order.outcome, order.priceTicks));
  if (upTicks.length === 0) return 0;
  return bids ? Math.max(...upTicks) : Math.min(...upTicks);
}

const isBid = (order: Resting): boolean => isBidFor(order.side, order.outcome);

/** For UP: a buy of UP or a sell of DOWN. */
export function isBidFor(side: Side, outcome: Outcome): boolean {
  return (side === Side.BUY) === (outcome === Outcome.UP);
}

/** Orders that match a quote stay. */
export function changesTo<T extends Resting>(
  plan: readonly HouseQuote[],
  resting: readonly T[],
): { cancel: T[]; place: HouseQuote[] } {
  const left = new Set(resting);
  const place: HouseQuote[] = [];
  for (const quote of plan) {
    const kept = resting.find((order) => left.has(order) && matches(order, quote));
    if (kept === undefined) place.push(quote);
    else left.delete(kept);
  }
  return { cancel: [...left], place };
}

function matches(order: Resting, quote: HouseQuote): boolean {
  // Never larger than planned: the plan may use all shares, money and exposure.
  return (
    order.side === quote.side &&
    order.outcome === quote.outcome &&
    Math.abs(order.priceTicks - quote.priceTicks) <= quote.toleranceTicks &&
    order.sizeLots >= quote.sizeLots * 0.8 &&
    order.sizeLots <= quote.sizeLots
  );
}
