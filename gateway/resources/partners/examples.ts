/** The examples of the routes of partners. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';

export const deposit: RouteExample = {
  request: { userId: 'u2', amount: 250.5, reference: 'wire-2025-11-21-17' },
  response: {
    partner: 'acme',
    reference: 'wire-2025-11-21-17',
    userId: 'u2',
    amount: 250.5,
    balance: { available: 10250.5, held: 0 },
    sequence: 7,
    atMs: 1763700300000,
  },
};

export const withdrawal: RouteExample = {
  request: { userId: 'u2', amount: 50.25, reference: 'payout-2025-11-21-3' },
  response: {
    partner: 'acme',
    reference: 'payout-2025-11-21-3',
    userId: 'u2',
    amount: 50.25,
    balance: { available: 10200.25, held: 0 },
    sequence: 8,
    atMs: 1763700300000,
  },
};

export const user: RouteExample = {
  response: {
    userId: 'u2',
    username: 'ada',
    createdAtMs: 1763700300000,
    currency: 'USD',
    available: 10200.25,
    held: 0,
    total: 10200.25,
    sequence: 8,
  },
};
