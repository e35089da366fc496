/**
 * Examples of requests and answers, by route: taken from a session with the exchange, and held against one by a test. Tokens
 * and the digest stand for what is different every time; long price histories and the metrics are cut.
 */
export interface RouteExample {
  /** The body; absent where there is none. */
  request?: unknown;
  /** The body of the answer to a success; absent where there is none. */
  response?: unknown;
}

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1MiIsInZlciI6MSwiaWF0IjoxNzYzNzAwMzAwfQ.c2lnbmF0dXJl';

const SIGNED_IN = {
  userId: 'u2',
  username: 'ada',
  token: TOKEN,
  referralCode: 'Q000002',
  sequence: 5,
};

/** While it is active; without what not every route has. */
const MARKET = {
  id: 'btc-15m-1763700300',
  type: '15m',
  asset: 'BTC',
  title: 'BTC up or down, 2025-11-21 04:45 to 05:00 UTC',
  status: 'active',
  resolution: null,
  startsAtMs: 1763700300000,
  endsAtMs: 1763701200000,
  startPrice: 100000,
  endPrice: null,
  assetPrice: 100000,
  prices: { UP: 0.475, DOWN: 0.525 },
  volume: 30.45,
  openInterest: 51,
  feeRate: 0.005,
  tickSize: 0.001,
  lotSize: 0.001,
};

/** "GET /markets/:id" → its example. */
export const EXAMPLES: Readonly<Record<string, RouteExample>> = {
  'POST /auth/register': {
    request: { username: 'ada', password: 'correct horse battery staple', referralCode: 'Q000001' },
    response: SIGNED_IN,
  },
  'GET /auth/session': { response: { userId: 'u2', username: 'ada', sequence: 5 } },
  'POST /auth/login': {
    request: { username: 'ada', password: 'correct horse battery staple' },
    response: SIGNED_IN,
  },
  'POST /auth/logout': {},
  'PUT /auth/password': {
    request: { currentPassword: 'correct horse battery staple', newPassword: 'a better password than that' },
    response: {
      token: TOKEN,
      sequence: 6,
    },
  },
  'POST /partner/deposits': {
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
  },
  'POST /partner/withdrawals': {
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
  },
  'GET /partner/users/:id': {
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
  },
  'POST /vaults/flex/stake': {
    request: { amount: 1000 },
    response: {
      depositId: 'd1',
      vaultId: 'flex',
      userId: 'u2',
      amount: 1000,
      accruedYield: 0,
      claimedYield: 0,
      status: 'active',
      stakedAtMs: 1763700300000,
      earnsFromMs: 1763701200000,
      balance: { available: 9200.25, held: 0 },
      sequence: 9,
    },
  },
  'GET /vaults': {
    response: {
      vaults: [
        {
          id: 'flex',
          name: 'Flex vault',
          currency: 'USD',
          staked: 1000,
          deposits: 1,
          feeShare: 0.4,
          yieldPaid: 0,
          apr: 0,
          minimumStake: 1,
        },
      ],
      sequence: 9,
    },
  },
  'POST /batch': {
    request: {
      operations: [
        {
          op: 'buy',
          outcome: 'UP',
          shares: 200,
          price: 0.45,
          marketId: 'btc-15m-1763700300',
          timeInForce: 'GTC',
        },
        {
          op: 'buy',
          outcome: 'DOWN',
          shares: 150,
          price: 0.5,
          marketId: 'btc-15m-1763700300',
          timeInForce: 'GTC',
        },
        {
          op: 'sell',
          outcome: 'UP',
          shares: 5,
          marketId: 'btc-15m-1763700300',
          timeInForce: 'GTC',
          price: 0.6,
        },
      ],
    },
    response: {
      results: [
        {
          orderId: 'o1',
          marketId: 'btc-15m-1763700300',
          userId: 'u1',
          side: 'BUY',
          outcome: 'UP',
          status: 'resting',
          shares: 0,
          averagePrice: null,
          spent: 0,
          fee: 0,
          total: 0,
          unspent: 0,
          restingShares: 200,
          fills: [],
          balance: { available: 9910, held: 90 },
          position: { UP: 0, DOWN: 0 },
          sequence: 10,
          atMs: 1763700300000,
        },
        {
          orderId: 'o2',
          marketId: 'btc-15m-1763700300',
          userId: 'u1',
          side: 'BUY',
          outcome: 'DOWN',
          status: 'resting',
          shares: 0,
          averagePrice: null,
          spent: 0,
          fee: 0,
          total: 0,
          unspent: 0,
          restingShares: 150,
          fills: [],
          balance: { available: 9835, held: 165 },
          position: { UP: 0, DOWN: 0 },
          sequence: 10,
          atMs: 1763700300000,
        },
        {
          error: {
            code: 'insufficient_shares',
            message: 'This requires 5 shares, but 0 are available to sell.',
            details: { required: 5, available: 0 },
          },
        },
      ],
      sequence: 10,
    },
  },
  'GET /markets/15m/:marketId/orderbook': {
    response: {
      marketId: 'btc-15m-1763700300',
      sequence: 10,
      UP: { bids: [{ price: 0.45, shares: 200 }], asks: [{ price: 0.5, shares: 150 }] },
      DOWN: { bids: [{ price: 0.5, shares: 150 }], asks: [{ price: 0.55, shares: 200 }] },
    },
  },
  'GET /markets/15m/:marketId/quote': {
    response: {
      marketId: 'btc-15m-1763700300',
      side: 'BUY',
      outcome: 'UP',
      shares: 51,
      averagePrice: 0.5,
      worstPrice: 0.5,
      spent: 25.5,
      fee: 0.1275,
      unspent: 0,
      sequence: 10,
    },
  },
  'POST /markets/15m/:marketId/buy': {
    request: { outcome: 'UP', amount: 25.5 },
    response: {
      orderId: 'o3',
      marketId: 'btc-15m-1763700300',
      userId: 'u2',
      side: 'BUY',
      outcome: 'UP',
      status: 'filled',
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
  },
  'POST /markets/15m/:marketId/sell': {
    request: { outcome: 'UP', shares: 11, price: 0.45 },
    response: {
      orderId: 'o4',
      marketId: 'btc-15m-1763700300',
      userId: 'u2',
      side: 'SELL',
      outcome: 'UP',
      status: 'filled',
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
  },
  'GET /users/:id/orders': {
    response: {
      orders: [
        {
          orderId: 'o5',
          marketId: 'btc-15m-1763700300',
          userId: 'u2',
          side: 'BUY',
          outcome: 'UP',
          price: 0.3,
          shares: 10,
          placedAtMs: 1763700300000,
        },
        {
          orderId: 'o6',
          marketId: 'btc-15m-1763700300',
          userId: 'u2',
          side: 'BUY',
          outcome: 'UP',
          price: 0.31,
          shares: 10,
          placedAtMs: 1763700300000,
        },
      ],
      nextCursor: null,
      sequence: 14,
    },
  },
  'DELETE /markets/15m/:marketId/orders/:orderId': {
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
  },
  'DELETE /markets/15m/:marketId/orders': {
    response: {
      marketId: 'btc-15m-1763700300',
      userId: 'u2',
      cancelledOrders: 1,
      balance: { available: 9179.5725, held: 0 },
      sequence: 16,
      atMs: 1763700300000,
    },
  },
  'GET /markets': {
    response: {
      markets: [
        {
          ...MARKET,
          sequence: 16,
        },
      ],
      nextCursor: null,
      sequence: 16,
    },
  },
  'GET /markets/15m': {
    response: {
      markets: [
        {
          ...MARKET,
          sequence: 16,
        },
      ],
      serverTimeMs: 1763700300000,
      sequence: 16,
    },
  },
  'GET /markets/:id': {
    response: {
      ...MARKET,
      priceHistory: [{ atMs: 1763700300000, UP: 0.5, DOWN: 0.5, assetPrice: 100000 }],
      sequence: 16,
    },
  },
  'GET /markets/15m/:marketId/trades': {
    response: {
      trades: [
        {
          tradeId: 't2',
          outcome: 'UP',
          side: 'SELL',
          price: 0.45,
          shares: 11,
          value: 4.95,
          match: 'transfer',
          atMs: 1763700300000,
        },
        {
          tradeId: 't1',
          outcome: 'UP',
          side: 'BUY',
          price: 0.5,
          shares: 51,
          value: 25.5,
          match: 'mint',
          atMs: 1763700300000,
        },
      ],
      nextCursor: null,
      sequence: 16,
    },
  },
  'GET /users/:id': {
    response: {
      userId: 'u2',
      username: 'ada',
      createdAtMs: 1763700300000,
      volume: 30.45,
      realizedProfit: -0.6775,
      trades: 2,
      rank: 2,
      sequence: 16,
    },
  },
  'GET /users/:id/balance': {
    response: {
      userId: 'u2',
      currency: 'USD',
      available: 9179.5725,
      held: 0,
      total: 9179.5725,
      sequence: 16,
    },
  },
  'GET /users/:id/positions': {
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
  },
  'GET /users/:id/referral': {
    response: {
      userId: 'u2',
      code: 'Q000002',
      referredUsers: 0,
      earned: 0,
      pending: 0,
      referredBy: 'u1',
      sequence: 16,
    },
  },
  'GET /users/:id/trades': {
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
  },
  'PUT /users/:id/referral/code': {
    request: { code: 'ADA-2025' },
    response: {
      userId: 'u2',
      code: 'ADA-2025',
      referredUsers: 0,
      earned: 0,
      pending: 0,
      referredBy: 'u1',
      sequence: 17,
    },
  },
  'GET /users/:userId/vaults': {
    response: {
      deposits: [
        {
          depositId: 'd1',
          vaultId: 'flex',
          userId: 'u2',
          amount: 1000,
          accruedYield: 0,
          claimedYield: 0,
          status: 'active',
          stakedAtMs: 1763700300000,
          earnsFromMs: 1763701200000,
        },
      ],
      nextCursor: null,
      sequence: 17,
    },
  },
  'POST /markets/15m/:marketId/claim': {
    response: {
      marketId: 'btc-15m-1763700300',
      resolution: 'UP',
      shares: 40,
      payout: 40,
      balance: { available: 9219.5725, held: 0 },
      sequence: 50,
    },
  },
  'GET /markets/15m/history': {
    response: {
      markets: [
        {
          ...MARKET,
          status: 'resolved',
          resolution: 'UP',
          endPrice: 101250.5,
          assetPrice: 101250.5,
          prices: { UP: 0.45, DOWN: 0.55 },
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
  },
  'GET /users/:id/points': {
    response: {
      userId: 'u2',
      balance: 12.75,
      history: [{ atMs: 1763701202000, points: 12.75, reason: 'fees', marketId: 'btc-15m-1763700300' }],
      nextCursor: null,
      sequence: 50,
    },
  },
  'GET /leaderboard': {
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
  },
  'POST /vaults/deposits/:depositId/claim': {
    response: {
      depositId: 'd1',
      vaultId: 'flex',
      userId: 'u2',
      amount: 1000,
      accruedYield: 0,
      claimedYield: 0.051,
      status: 'active',
      stakedAtMs: 1763700300000,
      earnsFromMs: 1763701200000,
      claimed: 0.051,
      balance: { available: 9219.6235, held: 0 },
      sequence: 51,
    },
  },
  'POST /vaults/deposits/:depositId/unstake': {
    response: {
      depositId: 'd1',
      vaultId: 'flex',
      userId: 'u2',
      amount: 1000,
      accruedYield: 0,
      claimedYield: 0.051,
      status: 'closed',
      stakedAtMs: 1763700300000,
      earnsFromMs: 1763701200000,
      returned: 1000,
      yieldPaid: 0,
      balance: { available: 10219.6235, held: 0 },
      sequence: 52,
    },
  },
  'GET /health': { response: { status: 'ok' } },
  'GET /ready': { response: { status: 'ready' } },
  'GET /status': {
    response: {
      version: '1.0.0',
      sequence: 52,
      durableSequence: 52,
      digest: '6b0c94e7d1f2a385',
      startedAtMs: 1763700300000,
    },
  },
  'GET /metrics': {
    response: '# HELP exchange_users Accounts\n# TYPE exchange_users gauge\nexchange_users 2\n',
  },
};
