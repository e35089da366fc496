/** The examples of the routes of operators. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';

export const health: RouteExample = { response: { status: 'ok' } };

export const ready: RouteExample = { response: { status: 'ready' } };

export const status: RouteExample = {
  response: {
    version: '1.0.0',
    sequence: 52,
    durableSequence: 52,
    digest: '6b0c94e7d1f2a385',
    journal: 'local',
    role: 'leader',
    epoch: null,
    paused: [],
    startedAtMs: 1763700300000,
    prices: [
      {
        asset: 'BTC',
        price: 101250.5,
        observedAtMs: 1763701202000,
        held: null,
        sources: [
          { source: 'simulated', price: 101250.5, observedAtMs: 1763701202000, isFresh: true },
        ],
      },
      { asset: 'ETH', price: null, observedAtMs: null, held: null, sources: [] },
    ],
    nowMs: 1763701202000,
  },
};

export const time: RouteExample = {
  response: { nowMs: 1763701202000, sequence: 52 },
};

export const limits: RouteExample = {
  response: {
    ruleSet: 1,
    feeRate: 0.005,
    vaultShare: 0.4,
    tickSize: 0.001,
    lotSize: 0.001,
    prices: 'simulated',
    startingBalance: 10000,
    restingOrderValue: 1,
    maxima: {
      orderAmount: 1000000,
      orderShares: 10000000,
      tradesPerOrder: 5000,
      openOrders: 1000,
      batchOperations: 100,
      bodyBytes: 65536,
      pageEntries: 200,
      bookLevels: 999,
      stake: 100000000,
      vaultDeposits: 10000,
      referralCodes: 20,
      idempotencyKeys: 600000,
      idempotencyKeptMs: 3600000,
    },
    rates: {
      orders: { user: null, address: null },
      cancels: { user: null, address: null },
      reads: { user: null, address: null },
      signIns: { user: null, address: null },
    },
  },
};

export const metrics: RouteExample = {
  response: '# HELP exchange_users Accounts\n# TYPE exchange_users gauge\nexchange_users 2\n',
};
