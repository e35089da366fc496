/**
 * Thousands of orders that are due at the same millisecond: what one command has to pass over is
 * bounded, and trading goes on when they are worked off.
 */
import { expect, test } from 'vitest';
import type { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { OrderStatus, Outcome, TimeInForce } from '../../engine/interface/domain.js';
import { MAX_PASSES_PER_COMMAND, WORK_UNITS_PER_COMMAND } from '../../engine/interface/limits.js';
import { FIRST_OPERATION, OrderResult } from '../../engine/interface/results.js';
import { at, batch, buy, codeOf, eventsOf, openMarket, run } from '../support/engine-support.js';

const DUE_MS = 60_000;
const [TAKER, MAKER] = [5, 6];

/** 4,000 orders of four users that are due at DUE_MS, and one maker behind them. */
function storm(): { engine: Engine; marketId: number } {
  const { engine, marketId } = openMarket(6);
  for (let userId = 1; userId <= 4; userId++) {
    for (let i = 0; i < 1_000; i++) {
      const order = offer(userId, marketId, 600, { expiresAtMs: at(DUE_MS) });
      engine.apply(order, at(1));
    }
  }
  engine.apply(offer(MAKER, marketId, 500), at(1));
  return { engine, marketId };
}

function offer(userId: number, marketId: number, priceTicks: number, more = {}): Command {
  const terms = { outcome: Outcome.DOWN, sizeLots: 1_000, priceTicks };
  return buy({ userId, marketId, ...terms, timeInForce: TimeInForce.GTC, ...more });
}

test.each(['IOC', 'FOK', 'GTC'] as const)('%s waits until few enough are ahead', (kind) => {
  const { engine, marketId } = storm();
  const timeInForce = TimeInForce[kind];
  const take = buy({ userId: TAKER, marketId, sizeLots: 1_000, priceTicks: 500, timeInForce });
  // FOK passes over those ahead of the first maker twice.
  const most = kind === 'FOK' ? MAX_PASSES_PER_COMMAND / 2 : MAX_PASSES_PER_COMMAND;
  for (let left = 4_000 - WORK_UNITS_PER_COMMAND; left > most; left -= WORK_UNITS_PER_COMMAND) {
    expect(codeOf(run(engine, take, at(DUE_MS)))).toBe(Code.limit_reached);
    expect(eventsOf(engine, 'orderCancelled')).toHaveLength(WORK_UNITS_PER_COMMAND);
  }
  const result = run(engine, take, at(DUE_MS));
  expect([codeOf(result), result[OrderResult.status]]).toEqual([Code.ok, OrderStatus.FILLED]);
});

test('the operations of a batch pass over as many together, and a quote as many', () => {
  const { engine, marketId } = storm();
  const take = buy({ userId: TAKER, marketId, sizeLots: 1_000, priceTicks: 500 });
  engine.apply({ kind: 'advanceTime' }, at(DUE_MS));
  const asked = { marketId, side: 0, outcome: Outcome.UP, priceTicks: 500, userId: TAKER } as const;
  expect(engine.quote({ ...asked, budgetMicros: 500_000, sizeLots: 1_000 })?.filledLots).toBe(0);
  const refused = run(engine, batch(TAKER, [take, take]), at(DUE_MS));
  const second = FIRST_OPERATION + refused[FIRST_OPERATION - 1]!;
  expect(codeOf(refused)).toBe(Code.ok);
  for (const from of [FIRST_OPERATION, second + 1])
    expect(codeOf(refused.slice(from))).toBe(Code.limit_reached);
  // The next one leaves 1,000 ahead of its first order, which works them off.
  const done = run(engine, batch(TAKER, [take]), at(DUE_MS));
  expect(codeOf(done.slice(FIRST_OPERATION))).toBe(Code.ok);
});

test('what is left of an order is dropped when it meets too many after a trade', () => {
  const { engine, marketId } = storm();
  engine.apply(offer(MAKER, marketId, 700), at(2));
  const terms = { sizeLots: 2_000, priceTicks: 500, timeInForce: TimeInForce.GTC };
  const result = run(engine, buy({ userId: TAKER, marketId, ...terms }), at(DUE_MS));
  expect(result[OrderResult.status]).toBe(OrderStatus.TRADE_LIMIT);
  expect([result[OrderResult.filledLots], result[OrderResult.restingLots]]).toEqual([1_000, 0]);
  const ended = eventsOf(engine, 'orderCancelled').length;
  expect(ended).toBe(WORK_UNITS_PER_COMMAND + MAX_PASSES_PER_COMMAND);
});
