/** The examples of the routes of markets. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';

/** An active market, without the fields that differ between routes. */
export const MARKET = {
  id: 'btc-15m-1763700300',
  type: '15m',
  asset: 'BTC',
  title: 'BTC up or down, 2025-11-21 04:45 to 05:00 UTC',
  status: 'active',
  paused: false,
  resolution: null,
  startsAtMs: 1763700300000,
  endsAtMs: 1763701200000,
  startPrice: 100000,
  startPriceFinal: true,
  endPrice: null,
  resolvedAtMs: null,
  averageSoFar: null,
  assetPrice: 100000,
  prices: { UP: 0.475, DOWN: 0.525 },
  volume: 30.45,
  openInterest: 51,
  feeRate: 0.005,
  tickSize: 0.001,
  lotSize: 0.001,
};

export const markets: RouteExample = {
  response: {
    markets: [{ ...MARKET, sequence: 16 }],
    nextCursor: null,
    sequence: 16,
  },
};

export const activeMarkets: RouteExample = {
  response: {
    markets: [{ ...MARKET, sequence: 16 }],
    serverTimeMs: 1763700300000,
    sequence: 16,
  },
};

export const market: RouteExample = {
  response: {
    ...MARKET,
    priceHistory: [{ atMs: 1763700300000, UP: 0.5, DOWN: 0.5, assetPrice: 100000 }],
    sequence: 16,
  },
};

export const orderbook: RouteExample = {
  response: {
    marketId: 'btc-15m-1763700300',
    sequence: 10,
    UP: { bids: [{ price: 0.45, shares: 200 }], asks: [{ price: 0.5, shares: 150 }] },
    DOWN: { bids: [{ price: 0.5, shares: 150 }], asks: [{ price: 0.55, shares: 200 }] },
  },
};

export const quote: RouteExample = {
  response: {
    marketId: 'btc-15m-1763700300',
    side: 'BUY',
    outcome: 'UP',
    shares: 51,
    filled: 51,
    averagePrice: 0.5,
    worstPrice: 0.5,
    spent: 25.5,
    fee: 0.1275,
    unspent: 0,
    sequence: 10,
  },
};
