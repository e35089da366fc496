/** The examples of the routes of an account. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';

export const profile: RouteExample = {
  response: {
    userId: 'u2',
    username: 'ada',
    createdAtMs: 1763700300000,
    volume: 25.5,
    realizedProfit: -0.6775,
    trades: 2,
    rank: 2,
    sequence: 16,
  },
};

export const balance: RouteExample = {
  response: {
    userId: 'u2',
    currency: 'USD',
    available: 9179.5725,
    held: 0,
    total: 9179.5725,
    sequence: 16,
  },
};

export const positions: RouteExample = {
  response: {
    positions: [
      {
        marketId: 'btc-15m-1763700300',
        asset: 'BTC',
        outcome: 'UP',
        shares: 40,
        averagePrice: 0.5,
        cost: 20,
        price: 0.475,
        value: 19,
        unrealizedProfit: -1,
        status: 'open',
        endsAtMs: 1763701200000,
      },
    ],
    nextCursor: null,
    sequence: 16,
  },
};

const REFERRAL = {
  userId: 'u2',
  code: 'Q000002',
  referredUsers: 0,
  earned: 0,
  pending: 0,
  referredBy: 'u1',
  sequence: 16,
};

export const referral: RouteExample = { response: REFERRAL };

export const referralCode: RouteExample = {
  request: { code: 'ADA-2025' },
  response: { ...REFERRAL, code: 'ADA-2025', sequence: 17 },
};
