/** The examples of the routes of orders. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';

export const buy: RouteExample = {
  request: { outcome: 'UP', amount: 25.5 },
  response: {
    orderId: 'o3',
    clientOrderId: null,
    marketId: 'btc-15m-1763700300',
    userId: 'u2',
    side: 'BUY',
    outcome: 'UP',
    status: 'filled',
    reason: null,
    shares: 51,
    averagePrice: 0.5,
    spent: 25.5,
    fee: 0.1275,
    total: 25.6275,
    unspent: 0,
    restingShares: 0,
    fills: [{ tradeId: 't1', price: 0.5, shares: 51 }],
    balance: { available: 9174.6225, held: 0 },
    position: { UP: 51, DOWN: 0 },
    sequence: 11,
    atMs: 1763700300000,
  },
};

export const sell: RouteExample = {
  request: { outcome: 'UP', shares: 11, price: 0.45 },
  response: {
    orderId: 'o4',
    clientOrderId: null,
    marketId: 'btc-15m-1763700300',
    userId: 'u2',
    side: 'SELL',
    outcome: 'UP',
    status: 'filled',
    reason: null,
    shares: 11,
    averagePrice: 0.45,
    received: 4.95,
    fee: 0,
    total: 4.95,
    unspent: 0,
    restingShares: 0,
    fills: [{ tradeId: 't2', price: 0.45, shares: 11 }],
    balance: { available: 9179.5725, held: 0 },
    position: { UP: 40, DOWN: 0 },
    sequence: 12,
    atMs: 1763700300000,
  },
};

export const claim: RouteExample = {
  response: {
    marketId: 'btc-15m-1763700300',
    resolution: 'UP',
    shares: 40,
    payout: 40,
    balance: { available: 9219.5725, held: 0 },
    sequence: 50,
    atMs: 1763701202000,
  },
};

export const cancel: RouteExample = {
  response: {
    orderId: 'o5',
    marketId: 'btc-15m-1763700300',
    userId: 'u2',
    status: 'cancelled',
    cancelledShares: 10,
    balance: { available: 9176.4725, held: 3.1 },
    sequence: 15,
    atMs: 1763700300000,
  },
};

export const cancelAll: RouteExample = {
  response: {
    marketId: 'btc-15m-1763700300',
    userId: 'u2',
    cancelled: ['o6'],
    cancelledOrders: 1,
    balance: { available: 9179.5725, held: 0 },
    sequence: 16,
    atMs: 1763700300000,
  },
};

export const amend: RouteExample = {
  request: { shares: 6 },
  response: {
    orderId: 'o7',
    clientOrderId: null,
    keptPriority: true,
    marketId: 'btc-15m-1763701200',
    userId: 'u2',
    side: 'BUY',
    outcome: 'UP',
    status: 'resting',
    reason: null,
    shares: 0,
    averagePrice: null,
    spent: 0,
    fee: 0,
    total: 0,
    unspent: 0,
    restingShares: 6,
    fills: [],
    balance: { available: 10217.8235, held: 1.8 },
    position: { UP: 0, DOWN: 0 },
    sequence: 57,
    atMs: 1763701202000,
  },
};

export const amendNamed: RouteExample = {
  request: { shares: 6 },
  response: {
    ...(amend.response as object),
    orderId: 'o8',
    clientOrderId: 'grid-7',
    sequence: 60,
  },
};

export const cancelNamed: RouteExample = {
  response: {
    orderId: 'o8',
    marketId: 'btc-15m-1763701200',
    userId: 'u2',
    status: 'cancelled',
    cancelledShares: 6,
    balance: { available: 10219.6235, held: 0 },
    sequence: 61,
    atMs: 1763701202000,
  },
};

export const cancelEverywhere: RouteExample = {
  response: {
    marketId: null,
    userId: 'u2',
    cancelled: ['o7'],
    cancelledOrders: 1,
    balance: { available: 10219.6235, held: 0 },
    sequence: 58,
    atMs: 1763701202000,
  },
};
