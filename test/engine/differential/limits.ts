/**
 * Limits and forms of fields that random commands reach too rarely or never. Each is a short script
 * that goes just below a maximum, to it, and past it. The duel compares the results.
 */
import type { BatchOperation, Command } from '../../../engine/interface/commands.js';
import { TimeInForce } from '../../../engine/interface/domain.js';
import { ODD_NUMBERS, ODD_TEXTS } from '../../support/random-commands.js';
import type { Duel } from './duel.js';
import { ACCOUNT_PLAYS } from './limits/accounts.js';
import { GROUP_PLAYS } from './limits/groups.js';
import { KEY_PLAYS } from './limits/keys.js';
import { ORDER_PLAYS } from './limits/orders.js';
import { PRICE_PLAYS } from './limits/prices.js';
import {
  batchOf,
  bid,
  type LimitPlay,
  MARKET,
  openMarket,
  own,
  type Play,
  START_MS,
  UP,
} from './limits/script.js';
import { wellFormed } from './limits/well-formed.js';

/**
 * Sends every command with every odd value in each of its fields, while the other fields are valid.
 */
function* fields(duel: Duel): Play {
  yield* openMarket(2);
  for (const command of wellFormed()) {
    for (const [name, value] of Object.entries(command)) {
      if (name === 'kind' || name === 'operations') continue;
      const odd =
        typeof value === 'boolean' ? [!value] : typeof value === 'number' ? ODD_NUMBERS : ODD_TEXTS;
      for (const one of odd) duel.apply({ ...command, [name]: one } as Command, START_MS + 1);
    }
  }
  for (const count of [0, 1, 100, 101]) {
    const operation = bid(1, UP, 1, TimeInForce.IOC);
    duel.apply(batchOf(1, Array<BatchOperation>(count).fill(operation)), START_MS + 1);
  }
  duel.apply(batchOf(1, [bid(2, UP, 1, TimeInForce.IOC)]), START_MS + 1);
  const sets = { ...own(1), marketId: MARKET, sizeLots: 0 };
  for (const kind of ['split', 'merge'] as const)
    duel.apply(batchOf(1, [{ kind, ...sets }]), START_MS + 1);
  duel.apply(
    batchOf(1, [{ ...bid(1, UP, 1, TimeInForce.IOC), idempotencyKey: 'key' }]),
    START_MS + 1,
  );
}

export const LIMIT_PLAYS: LimitPlay[] = [
  { name: 'every field, with invalid values', play: fields },
  ...PRICE_PLAYS,
  ...ORDER_PLAYS,
  ...GROUP_PLAYS,
  ...KEY_PLAYS,
  ...ACCOUNT_PLAYS,
];
