/** An exchange with many users; traders have a rank, and a position in the only market. */
import type { Command } from '../../../engine/interface/commands.js';
import { marketIdOf, Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import { MICROS_PER_DOLLAR } from '../../../engine/interface/limits.js';
import { buyOrder, observedPrice, registration, WINDOW_START_MS } from './open-market.js';

export const LARGE_USERS = 1_000_000;
export const LARGE_AT_MS = WINDOW_START_MS + 1_000;
const FUNDS_MICROS = 1_000 * MICROS_PER_DOLLAR;
const PRICE_TICKS = 500;
/** A credential of the gateway's length: scrypt$15$8$1$, a salt of 16 bytes and a key of 32. */
const CREDENTIAL = `scrypt$15$8$1$${'s'.repeat(22)}$${'k'.repeat(43)}`;

export function* largeExchange(
  { users, traders } = { users: LARGE_USERS, traders: LARGE_USERS },
): Generator<Command> {
  yield { kind: 'listAsset', symbol: 'BTC' };
  yield observedPrice(LARGE_AT_MS);
  for (let userId = 1; userId <= users; userId++) {
    yield { ...registration(userId, FUNDS_MICROS), credential: CREDENTIAL, referralCode: '' };
  }
  const marketId = marketIdOf(0, WINDOW_START_MS);
  for (let userId = 1; userId < traders; userId += 2) {
    // Different sizes make different profits and volumes.
    const sizeLots = 2_000 + (Math.imul(userId, 2_654_435_761) >>> 22);
    const common = { marketId, sizeLots, priceTicks: PRICE_TICKS };
    yield buyOrder({ ...common, userId, timeInForce: TimeInForce.GTC });
    yield buyOrder({ ...common, userId: userId + 1, outcome: Outcome.DOWN });
  }
}
