/** The examples of the routes that read the history. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';
import { MARKET } from '../markets/examples.js';

export const pastMarkets: RouteExample = {
  response: {
    markets: [
      {
        ...MARKET,
        status: 'resolved',
        feeRate: null,
        resolution: 'UP',
        endPrice: 101250.5,
        resolvedAtMs: 1763701202000,
        assetPrice: 101250.5,
        prices: { UP: 1, DOWN: 0 },
        priceHistory: [
          { atMs: 1763700300000, UP: 0.5, DOWN: 0.5, assetPrice: 100000 },
          { atMs: 1763700305000, UP: 0.475, DOWN: 0.525, assetPrice: 100000 },
          { atMs: 1763701200000, UP: 0.475, DOWN: 0.525, assetPrice: 101250.5 },
        ],
        sequence: 50,
      },
    ],
    nextCursor: null,
    sequence: 50,
  },
};

export const marketTrades: RouteExample = {
  response: {
    trades: [
      {
        tradeId: 't2',
        outcome: 'UP',
        side: 'SELL',
        price: 0.45,
        shares: 11,
        value: 4.95,
        matchType: 'transfer',
        atMs: 1763700300000,
      },
      {
        tradeId: 't1',
        outcome: 'UP',
        side: 'BUY',
        price: 0.5,
        shares: 51,
        value: 25.5,
        matchType: 'mint',
        atMs: 1763700300000,
      },
    ],
    nextCursor: null,
    sequence: 16,
  },
};

export const userTrades: RouteExample = {
  response: {
    trades: [
      {
        tradeId: 't2',
        orderId: 'o4',
        marketId: 'btc-15m-1763700300',
        outcome: 'UP',
        side: 'SELL',
        price: 0.45,
        shares: 11,
        value: 4.95,
        fee: 0,
        role: 'taker',
        atMs: 1763700300000,
      },
      {
        tradeId: 't1',
        orderId: 'o3',
        marketId: 'btc-15m-1763700300',
        outcome: 'UP',
        side: 'BUY',
        price: 0.5,
        shares: 51,
        value: 25.5,
        fee: 0.1275,
        role: 'taker',
        atMs: 1763700300000,
      },
    ],
    nextCursor: null,
    sequence: 16,
  },
};

export const points: RouteExample = {
  response: {
    userId: 'u2',
    balance: 12.75,
    history: [
      { atMs: 1763701202000, points: 12.75, reason: 'fees', marketId: 'btc-15m-1763700300' },
    ],
    nextCursor: null,
    sequence: 50,
  },
};

export const leaderboard: RouteExample = {
  response: {
    metric: 'profit',
    period: 'all',
    entries: [
      { rank: 1, userId: 'u2', username: 'ada', value: 19.3225 },
      { rank: 2, userId: 'u1', username: 'bob', value: -19.45 },
    ],
    nextCursor: null,
    atMs: 1763701202000,
    sequence: 50,
  },
};
