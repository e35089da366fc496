/** The examples of the routes about a market's past. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';

export const events: RouteExample = {
  response: {
    marketId: 'btc-15m-1763700300',
    events: [
      {
        sequence: 3,
        atMs: 1763700300000,
        type: 'price',
        observedAtMs: 1763700300000,
        price: 100000,
      },
      {
        sequence: 10,
        atMs: 1763700300000,
        type: 'book',
        side: 'BUY',
        price: 0.45,
        change: 200,
      },
      {
        sequence: 48,
        atMs: 1763701202000,
        type: 'price',
        observedAtMs: 1763701202000,
        price: 101250.5,
      },
    ],
    nextCursor: null,
    sequence: 50,
  },
};

export const ticks: RouteExample = {
  response: {
    marketId: 'btc-15m-1763700300',
    startPrice: 100000,
    endPrice: 101250.5,
    start: [{ observedAtMs: 1763700300000, price: 100000 }],
    end: [
      { observedAtMs: 1763701140000, price: 101250.5 },
      { observedAtMs: 1763701170000, price: 101250.5 },
    ],
    sequence: 50,
  },
};

export const digest: RouteExample = {
  response: {
    sequence: 11,
    digest: '6b0c94e7d1f2a385',
    batch: {
      firstSequence: 11,
      lastSequence: 11,
      hash: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
    },
  },
};
