/**
 * An engine with an open market and funded users, as a starting point for tests. Time starts at a
 * window's start; `at(ms)` is that many milliseconds into it.
 */

import { Engine } from '../../engine/engine.js';
import type { BatchOperation, Buy, Command } from '../../engine/interface/commands.js';
import { decodeEvents, type EventName, type EventRecord } from '../../engine/interface/events.js';
import { ResultHead } from '../../engine/interface/results.js';
import { StateWriter } from '../../engine/storage/archive.js';
import { ANY_SIZE_RESTS, buyOrder, WINDOW_START_MS } from './workload/open-market.js';

export {
  ANY_SIZE_RESTS,
  sellOrder as sell,
  WINDOW_START_MS,
} from './workload/open-market.js';
export const DOLLAR = 1_000_000;

export function at(ms: number): number {
  return WINDOW_START_MS + ms;
}

/**
 * BTC at 100,000 dollars, one open market in which orders of any value may rest, and users 1 to
 * `users` with `dollars` each.
 */
export function openMarket(users: number, dollars = 10_000): { engine: Engine; marketId: number } {
  const engine = new Engine();
  engine.apply(ANY_SIZE_RESTS, at(0));
  engine.apply({ kind: 'listAsset', symbol: 'BTC' }, at(0));
  engine.apply(price(100_000, at(0)), at(0));
  for (let i = 1; i <= users; i++) engine.apply(registration(`user${i}`, dollars), at(0));
  return { engine, marketId: engine.activeMarket(0) };
}

export function registration(
  username: string,
  dollars: number,
  referralCode = '',
  partner: string | null = null,
): Command {
  return {
    kind: 'register',
    username,
    credential: 'c',
    referralCode,
    grantMicros: dollars * DOLLAR,
    partner,
  };
}

export function price(dollars: number, observedAtMs: number): Command {
  return { kind: 'observePrice', asset: 0, priceMicros: dollars * DOLLAR, observedAtMs };
}

/** A buy for ten dollars at any price, unless the fields say otherwise. */
export function buy(fields: Partial<Buy> & Pick<Buy, 'userId' | 'marketId'>): Buy {
  return buyOrder(
    fields.sizeLots === undefined ? { budgetMicros: 10 * DOLLAR, ...fields } : fields,
  );
}

export function batch(userId: number, operations: BatchOperation[], atomic = false): Command {
  return { kind: 'batch', userId, idempotencyKey: null, operations, atomic };
}

/** Applies a command, checks the invariants, and returns the result as a plain array. */
export function run(engine: Engine, command: Command, atMs = engine.nowMs): number[] {
  engine.apply(command, atMs);
  engine.checkInvariants();
  return Array.from(engine.result.values.subarray(0, engine.result.length));
}

/** The engine's whole state, as in a snapshot. */
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
export function eventsOf<K extends EventName>(
  engine: Engine,
  type: K,
): Extract<EventRecord, { type: K }>[] {
  const isOfType = (event: EventRecord): event is Extract<EventRecord, { type: K }> =>
    event.type === type;
  return decodeEvents(engine.events).filter(isOfType);
}
