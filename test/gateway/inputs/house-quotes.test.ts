/**
 * The house's quotes: the promises of a plan on random inputs, and the changes from resting orders
 * to a plan.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Outcome, Side } from '../../../engine/interface/domain.js';
import {
  changesTo,
  type HouseQuote,
  halfSpreadTicks,
  needsRequote,
  planQuotes,
  type QuoteInput,
} from '../../../gateway/inputs/house/quotes.js';

const DOLLAR = 1_000_000;
const plain: QuoteInput = {
  fairTicks: 500,
  halfSpreadTicks: [10, 20],
  upLots: 0,
  downLots: 0,
  runLots: 0,
  maxExposureLots: 25_000_000,
  spendableMicros: 100_000 * DOLLAR,
  maxOrderMicros: 1_000_000 * DOLLAR,
  maxOrders: 1_000,
  minRestingMicros: DOLLAR,
  othersBidTicks: null,
  othersAskTicks: null,
};
const plan = (change: Partial<QuoteInput> = {}) => planQuotes({ ...plain, ...change });

/** Uniform, in hundredths of a tick; fast-check's own doubles are mostly close to 0. */
const ticksBetween = (min: number, max: number) =>
  fc.integer({ min: min * 100, max: max * 100 }).map((hundredths) => hundredths / 100);

const isBid = (quote: HouseQuote) => (quote.side === Side.BUY) === (quote.outcome === Outcome.UP);
const upTicks = (quote: HouseQuote) =>
  quote.outcome === Outcome.UP ? quote.priceTicks : 1_000 - quote.priceTicks;
const bids = (quotes: readonly HouseQuote[]) => quotes.filter(isBid);
const asks = (quotes: readonly HouseQuote[]) => quotes.filter((quote) => !isBid(quote));
const lots = (quotes: readonly HouseQuote[]) =>
  quotes.reduce((sum, quote) => sum + quote.sizeLots, 0);
const bestBid = (quotes: readonly HouseQuote[]) => Math.max(0, ...bids(quotes).map(upTicks));
const bestAsk = (quotes: readonly HouseQuote[]) => Math.min(1_000, ...asks(quotes).map(upTicks));
const cost = (quotes: readonly HouseQuote[]) =>
  quotes.reduce(
    (sum, quote) => sum + (quote.side === Side.BUY ? quote.sizeLots * quote.priceTicks : 0),
    0,
  );

/** The amount that a taker can spend on an outcome until the house has no more. */
function depthMicros(quotes: readonly HouseQuote[], outcome: Outcome): number {
  const makers = outcome === Outcome.UP ? asks(quotes) : bids(quotes);
  return makers.reduce((sum, quote) => {
    const ticks = outcome === Outcome.UP ? upTicks(quote) : 1_000 - upTicks(quote);
    return sum + quote.sizeLots * ticks;
  }, 0);
}

describe('a plan', () => {
  const anyInput = fc.record({
    fairTicks: ticksBetween(0, 1_000),
    halfSpreadTicks: ticksBetween(1, 100).map((near) => [near, 2 * near]),
    upLots: fc.integer({ min: 0, max: 40_000_000 }),
    downLots: fc.integer({ min: 0, max: 40_000_000 }),
    runLots: fc.integer({ min: -40_000_000, max: 40_000_000 }),
    maxExposureLots: fc.integer({ min: 0, max: 25_000_000 }),
    spendableMicros: fc.integer({ min: 0, max: 100_000 * DOLLAR }),
    maxOrderMicros: fc.integer({ min: DOLLAR, max: 2_000 * DOLLAR }),
    maxOrders: fc.integer({ min: 1, max: 20 }),
    minRestingMicros: fc.integer({ min: 0, max: 10 * DOLLAR }),
    othersBidTicks: fc.option(fc.integer({ min: 1, max: 998 })),
    othersAskTicks: fc.option(fc.integer({ min: 2, max: 999 })),
  });

  test('keeps its promises for any input', () => {
    let withBothSides = 0;
    fc.assert(
      fc.property(anyInput, (input) => {
        const { quotes } = planQuotes(input);
        if (bids(quotes).length > 0 && asks(quotes).length > 0) withBothSides++;
        const exposure = input.upLots - input.downLots;
        const soldLots = (outcome: Outcome) =>
          lots(quotes.filter((quote) => quote.side === Side.SELL && quote.outcome === outcome));
        const promises = {
          terms: quotes.every(
            ({ priceTicks, sizeLots }) =>
              Number.isInteger(priceTicks) &&
              priceTicks >= 1 &&
              priceTicks <= 999 &&
              Number.isInteger(sizeLots) &&
              sizeLots > 0 &&
              sizeLots * priceTicks >= input.minRestingMicros,
          ),
          bidBelowFair: bestBid(quotes) <= Math.max(1, input.fairTicks - 1),
          askAboveFair: bestAsk(quotes) >= Math.min(999, input.fairTicks + 1),
          bidBelowOthers: bestBid(quotes) < (input.othersAskTicks ?? 1_000),
          askAboveOthers: bestAsk(quotes) > (input.othersBidTicks ?? 0),
          bidExposure:
            bids(quotes).length === 0 || exposure + lots(bids(quotes)) <= input.maxExposureLots,
          askExposure:
            asks(quotes).length === 0 || exposure - lots(asks(quotes)) >= -input.maxExposureLots,
          sellsWhatItHas:
            soldLots(Outcome.UP) <= input.upLots && soldLots(Outcome.DOWN) <= input.downLots,
          spending: cost(quotes) <= input.spendableMicros,
          spendingOfOne: quotes.every((quote) => cost([quote]) <= input.maxOrderMicros),
          count: quotes.length <= input.maxOrders,
        };
        const broken = Object.entries(promises).filter(([, isKept]) => !isKept);
        expect(broken).toEqual([]);
      }),
      { numRuns: 3_000 },
    );
    expect(withBothSides).toBeGreaterThan(500);
  });

  test('offers hundreds of dollars of either outcome from 0.05 to 0.95', () => {
    for (let fairTicks = 50; fairTicks <= 950; fairTicks += 10) {
      for (const outcome of [Outcome.UP, Outcome.DOWN]) {
        const { quotes, short } = plan({ fairTicks });
        expect(depthMicros(quotes, outcome), `${outcome} at ${fairTicks}`).toBeGreaterThan(
          300 * DOLLAR,
        );
        expect(short).toBe(false);
      }
    }
  });

  test.each([
    [{ maxOrders: 1 }, 0],
    [{ maxOrders: 4 }, 4],
    [{ maxOrderMicros: 2 * DOLLAR }, 12],
  ])('says so when the rules allow less: %j', (rules, count) => {
    const { quotes, short } = plan(rules);
    expect([quotes.length, short]).toEqual([count, true]);
    if (count === 4) expect([bestBid(quotes), bestAsk(quotes)]).toEqual([490, 510]);
  });

  test('buys UP for less when long UP, sells it as before, and buys no more at its cap', () => {
    const long = plan({ upLots: 12_500_000 }).quotes;
    expect([bestBid(long), bestAsk(long)]).toEqual([240, 510]);
    const full = plan({ upLots: 25_000_000 }).quotes;
    expect(bids(full)).toEqual([]);
    expect(asks(full).length).toBeGreaterThan(0);
    expect(bestAsk(full)).toBe(510);
  });

  test('asks more and more of takers who buy more in half a minute than customers do', () => {
    const sold = (runLots: number) => bestAsk(plan({ downLots: -runLots, runLots }).quotes);
    expect([0, -500_000, -600_000, -1_000_000].map(sold)).toEqual([510, 520, 534, 590]);
  });

  test('is mirrored when the outcomes are swapped', () => {
    const straight = plan({ fairTicks: 320.5, upLots: 1_000_000 }).quotes;
    const mirror = plan({ fairTicks: 679.5, downLots: 1_000_000 }).quotes;
    const swapped = mirror.map((quote) => ({ ...quote, outcome: 1 - quote.outcome }));
    const key = (quote: HouseQuote) =>
      quote.outcome * 10_000 + quote.side * 1_000 + quote.priceTicks;
    expect([...swapped].sort((a, b) => key(a as HouseQuote) - key(b as HouseQuote))).toEqual(
      [...straight].sort((a, b) => key(a) - key(b)),
    );
  });

  test('is wider the faster the fair value moves and the more takers know, up to a limit', () => {
    expect(halfSpreadTicks(0, 0)).toEqual([10, 15]);
    expect(halfSpreadTicks(10, 0)).toEqual([15.5, 40]);
    expect(halfSpreadTicks(10, 1.5)).toEqual([45.5, 70]);
    expect(halfSpreadTicks(10, 100)).toEqual([450, 450]);
  });

  test.each([0, 0.4, 3, 997, 999.6, 1_000])('has both sides at a fair value of %d', (fairTicks) => {
    for (const halfSpreadTicks of [
      [10, 15],
      [450, 450],
    ]) {
      const { quotes } = plan({ fairTicks, halfSpreadTicks });
      expect(bestBid(quotes)).toBeGreaterThanOrEqual(1);
      expect(bestAsk(quotes)).toBeLessThanOrEqual(999);
    }
  });
});

describe('the changes from resting orders to a plan', () => {
  const { quotes } = plan();

  test('are none when the planned orders already rest', () => {
    expect(needsRequote(quotes, quotes)).toBe(false);
    expect(changesTo(quotes, quotes)).toEqual({ cancel: [], place: [] });
  });

  test('are all orders for an empty book, and all cancels without a plan', () => {
    expect(needsRequote(quotes, [])).toBe(true);
    expect(changesTo(quotes, [])).toEqual({ cancel: [], place: quotes });
    expect(needsRequote([], quotes)).toBe(true);
    expect(changesTo([], quotes)).toEqual({ cancel: quotes, place: [] });
    expect(needsRequote([], [])).toBe(false);
  });

  test('move the best levels first when the price moves', () => {
    const moved = (ticks: number) => plan({ fairTicks: 500 + ticks }).quotes;
    expect(needsRequote(moved(1), quotes)).toBe(false);
    expect(needsRequote(moved(2), quotes)).toBe(false);
    expect(needsRequote(moved(3), quotes)).toBe(true);
    const { cancel, place } = changesTo(moved(3), quotes);
    expect(cancel.length).toBeGreaterThan(0);
    expect(cancel.length).toBeLessThan(quotes.length);
    expect(place).toHaveLength(cancel.length);
    expect(place.some((quote) => upTicks(quote) === 493)).toBe(true);
    expect(cancel.some((quote) => upTicks(quote) === 490)).toBe(true);
  });

  test('refill a side that is mostly used up', () => {
    const used = quotes.filter((quote) => !isBid(quote) || upTicks(quote) < 470);
    expect(needsRequote(quotes, used)).toBe(true);
    const { cancel, place } = changesTo(quotes, used);
    expect(cancel).toEqual([]);
    expect(place.map(upTicks)).toEqual([490, 480, 474]);
  });

  test('remove orders larger than planned', () => {
    const larger = quotes.map((quote) => ({ ...quote, sizeLots: quote.sizeLots + 1 }));
    expect(changesTo(quotes, larger).cancel).toHaveLength(quotes.length);
  });
});
