/**
 * An engine with an open market and funded users, for tests that need a place to begin. Time starts at a window's
 * start; `at(ms)` is that many milliseconds into it.
 */
import { StateWriter } from '../engine/archive.js';
import type { BatchOperation, Buy, Command, Sell } from '../engine/commands.js';
import { Outcome, TimeInForce } from '../engine/domain.js';
import { Engine } from '../engine/engine.js';
import { decodeEvents, type EventName, type EventRecord } from '../engine/events.js';
import { MAX_ORDER_LOTS, MAX_TIME_MS } from '../engine/limits.js';
import { ResultHead } from '../engine/results.js';

export const WINDOW_START_MS = 1_763_700_300_000;
export const DOLLAR = 1_000_000;

export function at(ms: number): number {
  return WINDOW_START_MS + ms;
}

/** BTC at 100,000 dollars, one open market, users 1 to `users` with `dollars` each. */
export function openMarket(users: number, dollars = 10_000): { engine: Engine; marketId: number } {
  const engine = new Engine();
  engine.apply({ kind: 'listAsset', symbol: 'BTC' }, at(0));
  engine.apply(price(100_000, at(0)), at(0));
  for (let i = 1; i <= users; i++) engine.apply(registration(`user${i}`, dollars), at(0));
  return { engine, marketId: engine.activeMarket(0) };
}

export function registration(username: string, dollars: number, referralCode = ''): Command {
  return { kind: 'register', username, credential: '', referralCode, grantMicros: dollars * DOLLAR };
}

export function price(dollars: number, observedAtMs: number): Command {
  return { kind: 'observePrice', asset: 0, priceMicros: dollars * DOLLAR, observedAtMs };
}

export function buy(fields: Partial<Buy> & Pick<Buy, 'userId' | 'marketId'>): Buy {
  const sizeLots = fields.sizeLots ?? MAX_ORDER_LOTS;
  const priceTicks = fields.priceTicks ?? 999;
  return {
    kind: 'buy',
    idempotencyKey: null,
    outcome: Outcome.UP,
    timeInForce: TimeInForce.IOC,
    postOnly: false,
    validUntilMs: MAX_TIME_MS,
    budgetMicros: fields.sizeLots === undefined ? 10 * DOLLAR : sizeLots * priceTicks,
    ...fields,
    sizeLots,
    priceTicks,
  };
}

export function sell(fields: Partial<Sell> & Pick<Sell, 'userId' | 'marketId' | 'sizeLots'>): Sell {
  return {
    kind: 'sell',
    idempotencyKey: null,
    outcome: Outcome.UP,
    priceTicks: 1,
    timeInForce: TimeInForce.IOC,
    postOnly: false,
    validUntilMs: MAX_TIME_MS,
    ...fields,
  };
}

export function batch(userId: number, operations: BatchOperation[], atomic = false): Command {
  return { kind: 'batch', userId, idempotencyKey: null, operations, atomic };
}

/** Applies a command and returns its result as a plain array; the invariants are checked. */
export function run(engine: Engine, command: Command, atMs = engine.nowMs): number[] {
  engine.apply(command, atMs);
  engine.checkInvariants();
  return Array.from(engine.result.values.subarray(0, engine.result.length));
}

/** The engine's whole state, as a snapshot holds it. */
export function archiveOf(engine: Engine): Uint8Array {
  const pieces: Uint8Array[] = [];
  const writer = new StateWriter((bytes) => pieces.push(bytes.slice()));
  engine.archive(writer);
  writer.finish();
  return Buffer.concat(pieces);
}

export function codeOf(result: readonly number[]): number {
  return result[ResultHead.code]!;
}

/** The last command's events of one kind. */
export function eventsOf<K extends EventName>(engine: Engine, type: K): Extract<EventRecord, { type: K }>[] {
  const isOfType = (event: EventRecord): event is Extract<EventRecord, { type: K }> => event.type === type;
  return decodeEvents(engine.events).filter(isOfType);
}
