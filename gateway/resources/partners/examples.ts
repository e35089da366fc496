/** The examples of the routes of partners. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';

export const deposit = transfer(250.5, 'wire-2025-11-21-17', { available: 10250.5, sequence: 7 });
export const withdrawal = transfer(50.25, 'payout-2025-11-21-3', {
  available: 10200.25,
  sequence: 8,
});

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

function transfer(
  amount: number,
  reference: string,
  { available, sequence }: { available: number; sequence: number },
): RouteExample {
  const userId = 'u2';
  const balance = { available, held: 0 };
  const atMs = 1763700300000;
  return {
    request: { userId, amount, reference },
    response: { partner: 'acme', reference, userId, amount, balance, sequence, atMs },
  };
}
