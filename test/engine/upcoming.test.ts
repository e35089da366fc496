/**
 * Markets that are listed ahead of their windows: which exist, and how each ends. The differential
 * test compares their orders, money, pauses and timers with the naive engine's.
 */
import { describe, expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import { MarketStatus, marketIdOf, Outcome, Resolution } from '../../engine/interface/domain.js';
import { RESULT_HEAD_LENGTH } from '../../engine/interface/results.js';
import {
  at,
  buy,
  codeOf,
  DOLLAR,
  eventsOf,
  openMarket,
  price,
  run,
} from '../support/engine-support.js';

const END = 900_000;
const LIST = { kind: 'listMarkets', asset: 0, ahead: true } as const;
const SIGNED = { operator: 'op', reason: 'a test' };
const GTC = { timeInForce: 2 } as const;
const [MAKER, OTHER, TAKER] = [1, 2, 3];

/** The market of the window that begins `windows` windows after the first. */
const marketIn = (windows: number) => marketIdOf(0, at(windows * END));
const NEXT = marketIn(1);

function listed(): Engine {
  const { engine } = openMarket(3);
  run(engine, LIST);
  return engine;
}

/** A bid of MAKER for UP at 0.4, and one of OTHER for DOWN at 0.5. */
function quoted(): Engine {
  const engine = listed();
  const terms = { marketId: NEXT, sizeLots: 10_000, ...GTC };
  run(engine, buy({ userId: MAKER, priceTicks: 400, ...terms }));
  run(engine, buy({ userId: OTHER, outcome: Outcome.DOWN, priceTicks: 500, ...terms }));
  return engine;
}

/** Passes the next window's start with a price in force. */
function opened(engine: Engine): Engine {
  run(engine, price(100_000, at(END - 30_000)), at(END - 30_000));
  run(engine, { kind: 'advanceTime' }, at(END + 1));
  return engine;
}

const statusOf = (engine: Engine, marketId: number) => engine.market(marketId)!.status;

test('lists the next four windows, once, and the current one while a price would open it', () => {
  const { engine } = openMarket(0);
  expect(run(engine, LIST).slice(RESULT_HEAD_LENGTH)).toEqual([4]);
  expect(eventsOf(engine, 'marketListed').map(({ marketId }) => marketId)).toEqual(
    [1, 2, 3, 4].map(marketIn),
  );
  expect(engine.upcomingMarkets(0)).toEqual([1, 2, 3, 4].map(marketIn));
  expect(run(engine, LIST).slice(RESULT_HEAD_LENGTH)).toEqual([0]);
  expect(codeOf(run(engine, { ...LIST, asset: 1 }))).toBe(Code.asset_not_found);
  opened(engine);
  expect(engine.upcomingMarkets(0)).toEqual([2, 3, 4, 5].map(marketIn));
  run(engine, { ...LIST, ahead: false });
  run(engine, { kind: 'advanceTime' }, at(2 * END));
  expect(engine.upcomingMarkets(0)).toEqual([2, 3, 4, 5].map(marketIn));

  const silent = new Engine();
  run(silent, { kind: 'listAsset', symbol: 'BTC' }, at(END - 60_000));
  run(silent, LIST);
  expect(silent.upcomingMarkets(0)).toEqual([0, 1, 2, 3, 4].map(marketIn));
  const late = new Engine();
  run(late, { kind: 'listAsset', symbol: 'BTC' }, at(END - 59_999));
  run(late, LIST);
  expect(late.upcomingMarkets(0)).toEqual([1, 2, 3, 4].map(marketIn));
});

describe('it ends without having opened', () => {
  const untouched = { availableMicros: 10_000 * DOLLAR, heldMicros: 0 };

  test('when its window passes without a price: shares pay half a dollar, and fees come back', () => {
    const engine = quoted();
    const lots = { userId: TAKER, marketId: NEXT, sizeLots: 4_000 };
    run(engine, { kind: 'split', ...lots, idempotencyKey: null });
    run(engine, buy({ ...lots, outcome: Outcome.DOWN }));
    run(engine, { kind: 'advanceTime' }, at(2 * END - 1));
    expect(statusOf(engine, NEXT)).toBe(MarketStatus.UPCOMING);
    expect(engine.activeMarket(0)).toBe(0);
    run(engine, { kind: 'advanceTime' }, at(2 * END));
    expect(engine.market(NEXT)).toMatchObject({
      status: MarketStatus.RESOLVED,
      resolution: Resolution.VOID,
      startPriceMicros: null,
    });
    for (const userId of [MAKER, TAKER])
      run(engine, { kind: 'claim', userId, marketId: NEXT, idempotencyKey: null });
    // The taker paid 0.6 a share, the maker 0.4.
    const gainedMicros = [400_000, 0, -400_000];
    for (const [i, userId] of [MAKER, OTHER, TAKER].entries())
      expect(engine.account(userId)).toEqual(
        expect.objectContaining({
          availableMicros: untouched.availableMicros + gainedMicros[i]!,
          heldMicros: 0,
          realizedProfitMicros: gainedMicros[i]!,
          microPoints: 0,
        }),
      );
  });

  test('but a price of the last minute opens nothing, and one before that opens it', () => {
    for (const [leftMs, status] of [
      [60_000, MarketStatus.ACTIVE],
      [59_999, MarketStatus.UPCOMING],
    ] as const) {
      const engine = quoted();
      run(engine, price(99_000, at(2 * END - leftMs)), at(2 * END - leftMs));
      expect(statusOf(engine, NEXT)).toBe(status);
      expect(engine.depth(NEXT, 1)!.bids).toEqual([{ priceTicks: 400, sizeLots: 10_000 }]);
    }
  });

  test('when an operator declares it VOID, and its window stays without a market', () => {
    const engine = quoted();
    run(engine, { kind: 'voidMarket', marketId: NEXT, ...SIGNED });
    expect(engine.market(NEXT)!.resolution).toBe(Resolution.VOID);
    run(engine, LIST);
    expect(eventsOf(engine, 'marketListed')).toEqual([]);
    expect(engine.account(MAKER)).toMatchObject(untouched);
    opened(engine);
    expect(engine.activeMarket(0)).toBe(0);
    run(engine, price(100_000, at(END + 2)), at(END + 2));
    expect(engine.activeMarket(0)).toBe(0);
    run(engine, price(100_000, at(2 * END - 1)), at(2 * END - 1));
    run(engine, { kind: 'advanceTime' }, at(2 * END));
    expect(engine.activeMarket(0)).toBe(marketIn(2));
  });

  test('when an operator declares it VOID while its window waits for a price', () => {
    const engine = quoted();
    run(engine, { kind: 'advanceTime' }, at(END + 300_000));
    run(engine, { kind: 'voidMarket', marketId: NEXT, ...SIGNED });
    run(engine, price(100_000, at(END + 300_001)), at(END + 300_001));
    expect(engine.activeMarket(0)).toBe(0);
    expect(statusOf(engine, marketIn(0))).toBe(MarketStatus.RESOLVED);
  });
});
