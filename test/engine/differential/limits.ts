/**
 * Limits and field forms that random commands do not reach, or reach too rarely. Each is a short
 * script that goes just below a maximum, to it, and past it. The duel compares the results; the
 * scripts only get there.
 */
import { ACCOUNT_PLAYS } from './limits/accounts.js';
import { FIELD_PLAYS } from './limits/fields.js';
import { GROUP_PLAYS } from './limits/groups.js';
import { KEY_PLAYS } from './limits/keys.js';
import { ORDER_PLAYS } from './limits/orders.js';
import { PRICE_PLAYS } from './limits/prices.js';
import type { LimitPlay } from './limits/script.js';

export const LIMIT_PLAYS: LimitPlay[] = [
  ...FIELD_PLAYS,
  ...PRICE_PLAYS,
  ...ORDER_PLAYS,
  ...GROUP_PLAYS,
  ...KEY_PLAYS,
  ...ACCOUNT_PLAYS,
];
