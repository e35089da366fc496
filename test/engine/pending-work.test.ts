/**
 * Thousands of orders, timers or tokens are due at the same millisecond. One command processes or
 * passes over a bounded number, and no client sees a difference.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import {
  CancelReason,
  OrderEnd,
  OrderStatus,
  Outcome,
  TimeInForce,
  TokenScope,
} from '../../engine/interface/domain.js';
import { MAX_PASSES_PER_COMMAND, WORK_UNITS_PER_COMMAND } from '../../engine/interface/limits.js';
import { FIRST_OPERATION, OrderResult } from '../../engine/interface/results.js';
import {
  archiveOf,
  at,
  batch,
  buy,
  codeOf,
  eventsOf,
  openMarket,
  run,
} from '../support/engine-support.js';

const DUE_MS = 60_000;
const [TAKER, MAKER] = [5, 6];

/**
 * 4,000 orders of four users, half of them in groups, are due at DUE_MS; one maker is behind them.
 */
function storm(): { engine: Engine; marketId: number } {
  const { engine, marketId } = openMarket(6);
  for (let userId = 1; userId <= 4; userId++) {
    const group = { userId, idempotencyKey: null, maxFilledLots: 1, windowMs: 5_000 };
    engine.apply({ kind: 'createOrderGroup', ...group }, at(1));
    for (let i = 0; i < 1_000; i++) {
      const terms = { expiresAtMs: at(DUE_MS), groupId: i % 2 === 0 ? userId : 0 };
      const order = offer(userId, marketId, 600, terms);
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
  // A FOK order passes twice over the due orders ahead of its first maker.
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
  // The next order leaves 1,000 due orders ahead of its first maker, and cancels them.
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

test('an order that is due counts as expired before it is worked off', () => {
  const { engine, marketId } = storm();
  const orderId = engine.orders(4).at(-1)!.orderId;
  const cancel = { kind: 'cancel', idempotencyKey: null, marketId, orderId } as const;
  const result = run(engine, { ...cancel, userId: 4 }, at(DUE_MS));
  expect(codeOf(result)).toBe(Code.order_closed);
  expect(result.at(-1)).toBe(OrderEnd.CANCELLED + CancelReason.EXPIRED);
  expect(codeOf(run(engine, { ...cancel, userId: 3 }))).toBe(Code.order_not_found);
});

test.each<[Command, CancelReason]>([
  [{ kind: 'operatorCancel', userId: 4, operator: 'op', reason: 'a test' }, CancelReason.OPERATOR],
  [
    { kind: 'removeOrderGroup', userId: 4, groupId: 4, idempotencyKey: null },
    CancelReason.ORDER_GROUP,
  ],
])('and it is not cancelled by %o', (command, reason) => {
  const { engine } = storm();
  expect(codeOf(run(engine, command, at(DUE_MS)))).toBe(Code.ok);
  const ended = eventsOf(engine, 'orderCancelled').map((event) => event.reason);
  expect(ended).not.toContain(reason);
});

test('an order of an ended market counts as cancelled before it is worked off', () => {
  const { engine, marketId } = openMarket(2);
  for (const userId of [1, 2]) {
    for (let i = 0; i < 600; i++) engine.apply(offer(userId, marketId, 600), at(1));
  }
  const orderId = engine.orders(2).at(-1)!.orderId;
  const cancel = { kind: 'cancel', userId: 2, idempotencyKey: null, marketId, orderId } as const;
  const result = run(engine, cancel, at(900_000));
  expect(engine.orders(2).map((order) => order.orderId)).toContain(orderId);
  expect(codeOf(result)).toBe(Code.order_closed);
  expect(result.at(-1)).toBe(OrderEnd.CANCELLED + CancelReason.MARKET_ENDED);
});

test.each([
  [999, 5],
  [1_000, 5],
  [500, 600],
])('timers of users with %i and %i orders: one whose work is pending is over', (first, second) => {
  const { engine, marketId } = openMarket(2);
  const timer = { kind: 'setCancelAfter', idempotencyKey: null, timeoutMs: DUE_MS } as const;
  for (const [userId, count] of [
    [1, first],
    [2, second],
  ] as const) {
    for (let i = 0; i < count; i++) engine.apply(offer(userId, marketId, 600), at(userId));
    engine.apply({ ...timer, userId }, at(userId));
  }
  const archive = archiveOf(engine);
  const dueMs = at(2 + DUE_MS);
  run(engine, { ...timer, userId: 2, timeoutMs: 0 }, dueMs);
  expect([engine.orders(2).length, engine.cancelAtMs(2)]).toEqual([0, null]);
  while (engine.nextDueMs() <= dueMs) run(engine, { kind: 'advanceTime' }, dueMs);
  expect([engine.orders(1).length, engine.cancelAtMs(1)]).toEqual([0, null]);

  // An order that is placed after the timer's time remains.
  const other = Engine.restore(archive);
  expect(codeOf(run(other, offer(2, marketId, 600), dueMs))).toBe(Code.ok);
  while (other.nextDueMs() <= dueMs) run(other, { kind: 'advanceTime' }, dueMs);
  expect([other.orders(1).length, other.orders(2).length]).toEqual([0, 1]);
});

test('more tokens than units expire in two commands', () => {
  const { engine } = openMarket(21);
  const token = { scope: TokenScope.READ, expiresAtMs: at(DUE_MS), name: 'bot' };
  for (let i = 0; i < 1_050; i++)
    engine.apply(
      { kind: 'createToken', userId: 1 + (i % 21), ...token, allowedAddresses: '' },
      at(1),
    );
  const expired = () => {
    run(engine, { kind: 'advanceTime' }, at(DUE_MS));
    return eventsOf(engine, 'tokenExpired').length;
  };
  expect([expired(), expired()]).toEqual([WORK_UNITS_PER_COMMAND, 50]);
});
