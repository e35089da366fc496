/** The vocabulary of the scripts: a command with its expected code, a market, orders of users. */
import { Code } from '../../../../engine/interface/codes.js';
import type {
  Batch,
  BatchOperation,
  Buy,
  Command,
  Sell,
} from '../../../../engine/interface/commands.js';
import { marketIdOf, Outcome, TimeInForce } from '../../../../engine/interface/domain.js';
import {
  MAX_BATCH_OPERATIONS,
  MAX_OPEN_ORDERS_PER_USER,
  MAX_TIME_MS,
} from '../../../../engine/interface/limits.js';
import type { PoolSizes } from '../../../../engine/state/access/room.js';
import { ANY_SIZE_RESTS } from '../../../support/engine-support.js';
import type { Duel } from '../duel.js';

export const START_MS = 1_763_700_300_000;
export const MARKET = marketIdOf(0, START_MS);
export const { UP, DOWN } = Outcome;
export const { ok: OK, limit_reached: LIMIT_REACHED } = Code;

/** A command, its code (`ok` if not given), and its time (that of the command before). */
export type Row = readonly [command: Command, code?: number, atMs?: number];
/** In place of a row: compares the whole state of both engines. */
export const STATE = 'state';
export type Play<Result = void> = Generator<Row | typeof STATE, Result, void>;

export interface LimitPlay {
  name: string;
  /** Sizes of pools that replace the stated ones, which only the trial of the maxima reaches. */
  sizes?: PoolSizes;
  /** Set if the script takes seconds; `npm test` plays one of these. */
  isLong?: true;
  /** Each row has been applied when the script continues. */
  play(duel: Duel): Play;
}

/** Each command must give its code, because a script that misses its limit tests nothing. */
export function playAll(duel: Duel, { play }: LimitPlay): void {
  for (const row of play(duel)) {
    if (row === STATE) {
      duel.compareState();
      continue;
    }
    const [command, code = OK, atMs = duel.naive.nowMs] = row;
    duel.apply(command, atMs);
    const got = duel.naive.result[1];
    if (got !== code) throw new Error(`${command.kind} should give code ${code}, but gave ${got}`);
  }
}

/** The fields of a user's command without a key. */
export const own = (userId: number) => ({ userId, idempotencyKey: null });
export const SIGNED = { operator: 'op', reason: 'a test' };

export function registration(
  username: string,
  grantMicros: number,
  partner: string | null = null,
): Command {
  return { kind: 'register', username, credential: 'c', referralCode: '', grantMicros, partner };
}

/** One asset with an active market, and users with 1,000 dollars each. Orders of any size rest. */
export function* openMarket(users: number): Play {
  yield [ANY_SIZE_RESTS, OK, START_MS];
  yield [{ kind: 'listAsset', symbol: 'BTC' }, OK, START_MS];
  yield [{ kind: 'observePrice', asset: 0, priceMicros: 9e10, observedAtMs: START_MS }];
  for (let i = 1; i <= users; i++) yield [registration(`user${i}`, 1e9)];
}

export function bid(
  userId: number,
  outcome: Outcome,
  sizeLots: number,
  timeInForce: TimeInForce,
  priceTicks = 500,
): Buy {
  const budgetMicros = sizeLots * priceTicks;
  return {
    kind: 'buy',
    budgetMicros,
    ...order(userId, outcome, sizeLots, timeInForce, priceTicks),
  };
}

export function sale(
  userId: number,
  outcome: Outcome,
  sizeLots: number,
  timeInForce: TimeInForce,
  priceTicks = 500,
): Sell {
  return { kind: 'sell', ...order(userId, outcome, sizeLots, timeInForce, priceTicks) };
}

function order(
  userId: number,
  outcome: Outcome,
  sizeLots: number,
  timeInForce: TimeInForce,
  priceTicks: number,
) {
  const terms = { marketId: MARKET, outcome, sizeLots, priceTicks, timeInForce };
  return { ...own(userId), ...terms, postOnly: false, validUntilMs: MAX_TIME_MS };
}

export function batchOf(userId: number, operations: BatchOperation[]): Batch {
  return { kind: 'batch', userId, idempotencyKey: null, operations, atomic: true };
}

/**
 * Rests `count` equal orders of the user, in batches, because the naive engine is slow per command.
 */
export function* restMany(duel: Duel, order: Buy, count: number): Play {
  const { userId } = order;
  const before = duel.engine.orders(userId).length;
  for (let left = count; left > 0; left -= MAX_BATCH_OPERATIONS) {
    const operations = Array<Buy>(Math.min(left, MAX_BATCH_OPERATIONS)).fill(order);
    yield [{ ...batchOf(userId, operations), atomic: false }];
  }
  if (duel.engine.orders(userId).length !== before + count) throw new Error('not all rest');
}

/** The first users rest as many orders of one lot as they may, which a buyer of UP meets at 0.5. */
export function* fillBook(duel: Duel, users: number): Play {
  for (let userId = 1; userId <= users; userId++)
    yield* restMany(duel, bid(userId, DOWN, 1, TimeInForce.GTC), MAX_OPEN_ORDERS_PER_USER);
}
